import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { StackStatus } from '@trestle/stack/status/stack-status.ts'
import { freePort, portOf } from '@trestle/testing/free-port.ts'
import { ROOT } from '../../program.ts'
import { startServer } from '../../servers/server.ts'
import { START_MS_MAX } from '../start-stack.ts'
import type { ConsoleName } from './screens.ts'

/** Nothing listens there. */
const SILENT_URL = 'http://127.0.0.1:1033'

/** The settings that a console has of its own. */
const CHANGES: Readonly<Partial<Record<ConsoleName, Readonly<Record<string, string>>>>> = {
  silent: { CONSOLE_INVENTORY_URL: SILENT_URL },
  strict: { CONSOLE_REQUIRE_MFA: 'yes' },
}

/**
 * Starts a console with other settings than that of the stack, where the name asks for one. Returns its address. Disposing of
 * `started` ends it.
 */
export async function startConsole(
  name: ConsoleName,
  { status, dataDirectory }: { readonly status: StackStatus; readonly dataDirectory: string },
  started: AsyncDisposableStack,
): Promise<string> {
  const changes = CHANGES[name]
  if (changes === undefined) return status.CONSOLE_URL ?? ''
  const settings = parseEnv(readFileSync(join(dataDirectory, 'console.env'), 'utf8'))
  const port = String(await freePort())
  const url = `http://localhost:${port}`
  const server = await startServer({
    name: `the console ${name}`,
    args: [join(ROOT, 'services', 'console', 'src', 'main.ts')],
    cwd: ROOT,
    cores: undefined,
    env: {
      ...Object.fromEntries(Object.entries(settings).map(([setting, value = '']) => [setting, value])),
      PATH: process.env.PATH ?? '',
      CONSOLE_PORT: port,
      CONSOLE_BASE_URL: url,
      CONSOLE_METRICS_ENABLED: 'no',
      ...changes,
    },
    url,
    signs: ['/ready'],
    startMsMax: START_MS_MAX,
  })
  started.defer(server.stop)
  return url
}

/** Starts a server that takes every webhook. Returns its address. Disposing of `started` ends it. */
export async function startReceiver(started: AsyncDisposableStack): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    response.end('{"received":true}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  started.defer(async () => void server.close())
  return `http://127.0.0.1:${portOf(server)}/hooks/payments`
}
