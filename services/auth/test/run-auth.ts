import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { programEnvironment } from '@trestle/testing/command-server.ts'
import { adopted, prepared } from '@trestle/testing/temporary-database.ts'

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

/** The auth program as a separate process. */
export interface AuthProcess {
  readonly stdout: () => string
  /** Resolves when standard output contains the text. Rejects if the process ends before. */
  readonly waitForOutput: (pattern: RegExp) => Promise<void>
  /** Resolves when standard error contains the text. Rejects if the process ends before. */
  readonly waitForReport: (pattern: RegExp) => Promise<void>
  /** Kills the process with SIGKILL. */
  readonly kill: () => void
  /** The exit code, or the signal that ended the process. */
  readonly exited: Promise<number | string | null>
}

/** Starts auth's command line as a process, with its own settings. */
export function runAuth(args: readonly string[], databaseUrl: string): AuthProcess {
  return runAuthWith(args, {
    AUTH_DATABASE_URL: databaseUrl,
    AUTH_DB_PREPARED: String(prepared),
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DB_ROLE: adopted ? '' : 'auth_service',
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
    AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
    AUTH_MAILER_AUTOCONFIRM: 'true',
  })
}

/** Starts auth's command line as a process, with only these settings. */
export function runAuthWith(args: readonly string[], settings: Readonly<Record<string, string>>): AuthProcess {
  const child = spawn(process.execPath, [MAIN, ...args], {
    // This folder has no `.env` file.
    cwd: tmpdir(),
    env: { ...programEnvironment, ...settings },
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk
  })
  const exited = once(child, 'close').then(([code, signal]) => code ?? signal)
  const waitFor = async (stream: Readable, read: () => string, pattern: RegExp) => {
    while (!pattern.test(read())) {
      const ended = await Promise.race([once(stream, 'data').then(() => false), exited.then(() => true)])
      if (ended && !pattern.test(read())) throw new Error(`ended without ${pattern}: ${stdout}${stderr}`)
    }
  }
  return {
    stdout: () => stdout,
    waitForOutput: (pattern) => waitFor(child.stdout, () => stdout, pattern),
    waitForReport: (pattern) => waitFor(child.stderr, () => stderr, pattern),
    kill: () => child.kill('SIGKILL'),
    exited,
  }
}
