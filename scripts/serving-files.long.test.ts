import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { programEnvironment } from '../packages/testing/src/command-server.ts'

/** Prints all modules that the given module imports, directly or indirectly, including Node.js libraries. */
const LIST = `
  import { registerHooks } from 'node:module'
  const urls = []
  registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) })
  await import(process.argv[1])
  process.stdout.write([...urls, ...process.moduleLoadList].join('\\n'), () => process.exit())`

/** Modules that would delay a start although the first requests do not need them. */
const LATE = [
  /\/migrations\/\w+\/\d{4}-/,
  /\/commands\/(?!serve\.ts)/,
  /\/node_modules\/(@opentelemetry|@scalar|@simplewebauthn|ioredis|jose|nodemailer|pg-boss\/dist|prom-client|twilio|undici)\//,
  /\/node_modules\/@fastify\/(otel|swagger)\//,
  // The WebSocket client of Node.js, which every import of `node:http` would load.
  /internal\/deps\/undici/,
]

it.each(['auth', 'payments', 'inventory'])(
  '%s serves without loading modules that are needed later',
  async (service) => {
    const serve = new URL(`../services/${service}/src/commands/serve.ts`, import.meta.url)
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', LIST, '--', serve.href],
      { maxBuffer: 1_048_576, env: programEnvironment },
    )
    const loaded = stdout.split('\n')
    expect(loaded).toContain(serve.href)
    expect(loaded.filter((url) => LATE.some((late) => late.test(url)))).toEqual([])
  },
)
