import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

export interface WaitOptions {
  /** How long to go on trying, in milliseconds. */
  readonly timeoutMs: number
  /** Told at the first failure, with its cause, so that a human sees at once what is missing. */
  readonly onWaiting: (error: Error) => void
}

const RETRY_MS = 500
/** Wrong credentials, a missing database or missing rights do not mend themselves (classes 28, 3D and 42). */
const FINAL = /^(28|3D|42)/

/** Asks until the server answers. Throws the last error when the time is over or waiting cannot help. */
export async function waitForDatabase<T>(ask: () => Promise<T>, { timeoutMs, onWaiting }: WaitOptions): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask()
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause))
      const final = error instanceof pg.DatabaseError && FINAL.test(error.code ?? '')
      if (final || performance.now() + RETRY_MS > deadline) throw error
      if (attempt === 0) onWaiting(error)
    }
    await delay(RETRY_MS)
  }
}

/** Asks for a connection, and nothing else. */
export async function connectOnce(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  await client.end()
}
