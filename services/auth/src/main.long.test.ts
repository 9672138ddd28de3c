import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type CommandServer, programEnvironment, startCommandServer } from '@trestle/testing/command-server.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VERSION } from './version.ts'

const folder = await mkdtemp(join(tmpdir(), 'trestle-auth-main-'))
const file = join(folder, 'other.env')
await writeFile(join(folder, '.env'), 'AUTH_JWT_EXP=dot-env\n')
await writeFile(
  file,
  `# settings of a test
export AUTH_DB_DRIVER=postgres
AUTH_SITE_URL='$home'
AUTH_API_EXTERNAL_URL="not\\na url"
AUTH_JWT_EXP=file
DATABASE_URL=postgres://localhost/x
AUTH_JWT_SECRET=a secret of at least 32 bytes, for tests
AUTH_MAILER_AUTOCONFIRM=t
`,
)
afterAll(() => rm(folder, { recursive: true }))

let server: CommandServer
beforeAll(async () => {
  server = await startCommandServer()
})
afterAll(() => server.stop())

const main = join(import.meta.dirname, 'main.ts')

/** Runs the program in a folder with its own `.env`. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const lines = (text: string) => text.trimEnd().split('\n')
  const { status, stdout, stderr } = await server.run(main, args, {
    cwd: folder,
    env: { ...programEnvironment, ...env },
  })
  return { code: status, out: lines(stdout), err: lines(stderr) }
}

const EXPECTED = [
  'config: AUTH_SITE_URL must be an absolute URI with scheme and host (got "$home")',
  'config: AUTH_API_EXTERNAL_URL must be an absolute URL (http:// or https://) (got "not\\na url")',
]

describe('auth -c FILE', () => {
  it.each([
    ['before a command', ['-c', file, 'serve']],
    ['after it', ['migrate', 'status', `--config=${file}`]],
  ])('reads another file than .env: %s', async (_case, args) => {
    const { code, err } = await run(args)
    expect(code).toBe(1)
    expect(err).toEqual([...EXPECTED, 'config: AUTH_JWT_EXP must be a positive integer (got "file")'])
  })

  it('prefers the environment to the file', async () => {
    expect((await run(['-c', file], { AUTH_JWT_EXP: '3600' })).err).toEqual(EXPECTED)
  })

  it('names a file that it cannot read', async () => {
    const { code, err } = await run(['-c', join(folder, 'none.env')])
    expect({ code, err }).toEqual({ code: 1, err: [expect.stringMatching(/^config: .*none\.env cannot be read/)] })
  })
})

describe('auth', () => {
  it('prints its version, whatever the settings', async () => {
    // The other cases share a process. This case shows that the file runs as a program.
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, 'version'], {
      cwd: folder,
      env: programEnvironment,
    })
    expect([stdout, stderr]).toEqual([`${VERSION}\n`, ''])
  })

  it('exits with 2 for an unknown command', async () => {
    expect((await run(['fly'])).code).toBe(2)
  })
})
