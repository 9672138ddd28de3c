import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { NO_LIMITS, underSettings } from './driver/session-settings.ts'

interface WaitOptions {
  readonly timeoutMs: number
  /** Called at the first failure, so that the operator sees the cause at once. */
  readonly onWaiting: (error: Error) => void
}

const RETRY_MS = 500
/** Wrong credentials, a missing database and missing rights (classes 28, 3D and 42): waiting does not help. */
const FINAL = /^(28|3D|42)/

/** Asks until the server answers. @throws the last error, when the time is over or waiting cannot help */
export async function waitForDatabase<T>(ask: () => Promise<T>, { timeoutMs, onWaiting }: WaitOptions): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask()
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause))
      const final = error instanceof pg.DatabaseError && FINAL.test(error.code ?? '')
      if (final || performance.now() + RETRY_MS > deadlineMs) throw error
      if (attempt === 0) onWaiting(error)
    }
    await delay(RETRY_MS)
  }
}

/** Opens a connection and closes it. @throws Error when the database does not answer */
export function connectOnce(url: string): Promise<void> {
  return tryOnce(url, async () => {})
}

/** Changes to a role once. @throws pg.DatabaseError when the user of the connection may not take the role */
export function takeRoleOnce(url: string, role: string): Promise<void> {
  // In a transaction: behind a pooler the role must not stay with the connection.
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

/** A value that no operator sets by chance. */
const PROBE_MS = 86_399_999

/**
 * Whether a session keeps the settings that it is opened with. A pooler in transaction mode refuses them, or drops them where it
 * is configured to. In the second case statements would run without role and limits, and without an error.
 * @throws Error when the database does not answer
 */
export async function keepsSettings(url: string): Promise<boolean> {
  const under = underSettings({ ...NO_LIMITS, lock_timeout: PROBE_MS }, { url, hasSession: true })
  const client = new pg.Client({ ...under, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query(`SELECT setting FROM pg_settings WHERE name = 'lock_timeout'`)
    return rows[0]?.setting === String(PROBE_MS)
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.message.includes('startup parameter')) return false
    throw error
  } finally {
    await client.end()
  }
}

/** Identifies a database whatever address leads to it: the identifier of the cluster, and the oid of the database. */
const IDENTITY_QUERY = `
  SELECT pg_catalog.format('%s/%s', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database())) AS identity
  FROM pg_control_system()`

/** Errors where the administrator of PostgreSQL hides the identifier: databases cannot be compared then. */
const HIDDEN = /^(42501|42883)$/

/**
 * Whether two addresses lead to one database. True also where PostgreSQL hides its identifier.
 * @throws Error when one of them does not answer
 */
export async function isSameDatabase(url: string, other: string): Promise<boolean> {
  const [one, two] = await Promise.all([readIdentity(url), readIdentity(other)])
  return one === undefined || two === undefined || one === two
}

async function readIdentity(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<{ identity: string }>(IDENTITY_QUERY)
    return rows[0]?.identity
  } catch (error) {
    if (error instanceof pg.DatabaseError && HIDDEN.test(error.code ?? '')) return undefined
    throw error
  } finally {
    await client.end()
  }
}
