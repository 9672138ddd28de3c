import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type CommandServer, programEnvironment, startCommandServer } from '@trestle/testing/command-server.ts'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VERSION } from './version.ts'

removeFoldersAtEnd()

const main = join(import.meta.dirname, 'main.ts')
let server: CommandServer
let folder: string
let file: string
beforeAll(async () => {
  server = await startCommandServer()
  folder = createFolder()
  file = join(folder, 'other.env')
  await writeFile(join(folder, '.env'), 'PAYMENTS_PORT=dot-env\n')
  await writeFile(
    file,
    `# settings of a test
export PAYMENTS_BASE_URL="not\\na url"
PAYMENTS_PORT=file
PAYMENTS_DATABASE_URL=postgres://localhost/x
PAYMENTS_DEV=true
`,
  )
})
afterAll(() => server.stop())

/** Runs the program in a folder that has its own `.env` file. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { status, stdout, stderr } = await server.run(main, args, {
    cwd: folder,
    env: { ...programEnvironment, ...env },
  })
  return { code: status, out: stdout, err: stderr.trimEnd().split('\n') }
}

const BASE_URL = 'config: PAYMENTS_BASE_URL must be an absolute URL (http:// or https://) (got "not\\na url")'
const PORT = 'config: PAYMENTS_PORT must be a port between 0 and 65535 (got "file")'

describe('payments -c FILE', () => {
  it('reads another file than .env before a command', async () => {
    expect(await run(['-c', file, 'serve'])).toEqual({ code: 1, out: '', err: [PORT, BASE_URL] })
  })

  it('reads another file than .env after a command', async () => {
    expect(await run(['migrate', 'status', `--config=${file}`])).toEqual({ code: 1, out: '', err: [PORT, BASE_URL] })
  })

  it('prefers the environment to the file', async () => {
    expect((await run(['-c', file], { PAYMENTS_PORT: '8082' })).err).toEqual([BASE_URL])
  })

  it('names a file that it cannot read', async () => {
    const none = join(folder, 'none.env')
    expect(await run(['-c', none])).toEqual({
      code: 1,
      out: '',
      err: [`config: ${none} cannot be read (no such file)`],
    })
  })
})

describe('payments', () => {
  it('prints its version, whatever the settings', async () => {
    // Start a new process here, to test that the file runs as a program. The other tests share a process.
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, 'version'], {
      cwd: folder,
      env: programEnvironment,
    })
    expect([stdout, stderr]).toEqual([`${VERSION}\n`, ''])
  })

  it.each([
    ['fly', 'see payments --help'],
    ['captures', 'use /transactions/:transactionId/captures of the API'],
  ])('exits with 2 for the unknown command %s, and says: %s', async (word, advice) => {
    expect(await run([word])).toEqual({ code: 2, out: '', err: [`unknown command '${word}'; ${advice}`] })
  })
})
