import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

export interface WaitOptions {
  readonly url: string
  /** How long to go on trying, in milliseconds. */
  readonly timeoutMs: number
  /** Told at the first failure, with its cause, so that a human sees at once what is missing. */
  readonly onWaiting: (error: Error) => void
}

const RETRY_MS = 500
/** Wrong credentials or a missing database do not mend themselves (classes 28 and 3D). */
const FINAL = /^(28|3D)/

/** Resolves once the server takes connections. Throws the last error when the time is over or waiting cannot help. */
export async function waitForDatabase({ url, timeoutMs, onWaiting }: WaitOptions): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (let attempt = 0; ; attempt++) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.end()
      return
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause))
      const final = error instanceof pg.DatabaseError && FINAL.test(error.code ?? '')
      if (final || performance.now() + RETRY_MS > deadline) throw error
      if (attempt === 0) onWaiting(error)
    }
    await delay(RETRY_MS)
  }
}
