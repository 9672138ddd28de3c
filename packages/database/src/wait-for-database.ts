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
export function connectOnce(url: string): Promise<void> {
  return tryOnce(url, async () => {})
}

/** Takes a role on, and does nothing with it. Throws when the user of the connection may not. */
export function takeRoleOnce(url: string, role: string): Promise<void> {
  // In a transaction, so that a pooler hands nobody a connection that has the role.
  return tryOnce(url, (client) => client.query(`BEGIN; SET LOCAL ROLE ${client.escapeIdentifier(role)}; ROLLBACK`))
}

async function tryOnce(url: string, use: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    await use(client)
  } finally {
    await client.end()
  }
}
