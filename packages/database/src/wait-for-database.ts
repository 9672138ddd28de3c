import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { NO_LIMITS, underSettings } from './driver/session-settings.ts'

interface WaitOptions {
  readonly timeoutMs: number
  /** Called at the first failure, so that the operator sees the cause immediately. */
  readonly onWaiting: (error: Error) => void
}

const RETRY_MS = 500
/** Wrong credentials, a missing database and missing rights (classes 28, 3D and 42). Waiting does not help with these errors. */
const FINAL = /^(28|3D|42)/

/** Retries until the server answers. @throws the last error if the time is over or waiting cannot help */
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

/** Opens a connection and closes it. @throws Error if the database does not answer */
export function connectOnce(url: string): Promise<void> {
  return tryOnce(url, async () => {})
}

/** Switches to a role once. @throws pg.DatabaseError if the user of the connection may not switch to the role */
export function takeRoleOnce(url: string, role: string): Promise<void> {
  // Use a transaction. Behind a pooler, the role must not stay with the connection.
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
 * Returns whether a session keeps the settings that it is opened with. A pooler in transaction mode refuses the settings, or
 * drops them if it is configured to. In the second case statements would run without role and limits, and without an error.
 * @throws Error if the database does not answer
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

/** Identifies a database, independent of its address: the identifier of the cluster and the oid of the database. */
const IDENTITY_QUERY = `
  SELECT pg_catalog.format('%s/%s', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database())) AS identity
  FROM pg_control_system()`

/** The errors if the administrator of PostgreSQL hides the identifier. Databases cannot be compared in this case. */
const HIDDEN = /^(42501|42883)$/

/**
 * Returns whether two URLs lead to the same database. Also returns `true` if PostgreSQL hides its identifier.
 * @throws Error if one of the databases does not answer
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
