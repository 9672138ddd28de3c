import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { programEnvironment } from '@trestle/testing/command-server.ts'
import { prepared } from '@trestle/testing/temporary-database.ts'

const MAIN = fileURLToPath(new URL('../../auth/src/main.ts', import.meta.url))

export interface AuthService {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** Starts the auth service as a process on a free port. @param settings by their full names */
export async function runAuthService(
  databaseUrl: string,
  settings: Readonly<Record<string, string>>,
): Promise<AuthService> {
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    // A folder without a .env file.
    cwd: tmpdir(),
    env: {
      ...programEnvironment,
      AUTH_DATABASE_URL: databaseUrl,
      AUTH_DB_PREPARED: String(prepared),
      AUTH_DB_DRIVER: 'postgres',
      AUTH_API_HOST: '127.0.0.1',
      AUTH_API_PORT: '0',
      AUTH_SITE_URL: 'http://localhost:3000',
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_METRICS_ENABLED: 'false',
      AUTH_LOG_LEVEL: 'info',
      ...settings,
    },
  })
  let output = ''
  const exited = once(child, 'close')
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece: Buffer) => {
      output += piece
    })
  }
  const address = () => /"address":"([^"]+)"/.exec(output)?.[1]
  while (address() === undefined) {
    const ended = await Promise.race([once(child.stdout, 'data').then(() => false), exited.then(() => true)])
    if (ended && address() === undefined) throw new Error(`the authentication service ended: ${output}`)
  }
  return {
    url: address() ?? '',
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}
