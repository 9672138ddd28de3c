import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Names } from '@trestle/migrations/migration.ts'
import {
  type DatabaseConnection,
  type DatabaseIntrospector,
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  PostgresIntrospector,
  type RawBuilder,
  sql,
  type TableMetadata,
} from 'kysely'
import pg from 'pg'
import { NO_LIMITS, OWN_PATH, type SettingsOptions, underSettings } from '../driver/session-settings.ts'
import { MIGRATIONS } from '../names.ts'
import { isInFailedTransaction } from '../unavailable.ts'

export interface MigrationTarget {
  /** The URL of a connection that may create schemas, tables, functions and roles. */
  readonly url: string
  readonly names: Names
  /** `true` if the work needs its own sessions, which a pooler in transaction mode does not provide. */
  readonly hasSession?: true
  /** Called with the owner of an awaited lock after some seconds. Writes to standard error by default. */
  readonly report?: (line: string) => void
}

type Address = Pick<MigrationTarget, 'url' | 'hasSession'>

/** After this time, an operator should see the reason for the wait. */
const TOLD_AFTER_MS = 3_000

/** Opens a database for one task, and closes it in any case. The time limits of the database do not apply. */
export async function withDatabase<T>(address: Address, use: (db: Kysely<unknown>) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({
    ...underOwnSettings(address),
    max: 2,
    connectionTimeoutMillis: 5_000,
    // A pooler in transaction mode would keep the setting for its other clients.
    ...(address.hasSession && { onConnect: (client) => client.query(endTransactionLimit('session')) }),
  })
  pool.on('error', () => {})
  // The statement of a lost connection fails in any case. Without a listener, the error event would also end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  const dialect = new MigrationDialect({
    pool,
    onCreateConnection: async (connection) => tellFirstError(connection),
  })
  const db = new Kysely<unknown>({ dialect })
  try {
    return await use(db)
  } finally {
    await db.destroy()
  }
}

/**
 * Makes statements of a failed transaction throw the first error of the transaction. Kysely's migrator runs another query after
 * it could not create its tables. Its error would only say that the transaction is aborted.
 */
function tellFirstError(connection: DatabaseConnection): void {
  const { executeQuery } = connection
  let first: unknown
  const execute = async (...query: Parameters<typeof executeQuery>) => {
    try {
      return await executeQuery.apply(connection, query)
    } catch (error) {
      if (isInFailedTransaction(error)) throw first ?? error
      first = error
      throw error
    }
  }
  Object.assign(connection, { executeQuery: execute })
}

/** The dialect for Kysely's migrator, which runs inside a transaction of `underMigrationLock`. */
class MigrationDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new UnlockedAdapter()
  }
  override createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new MigratorTables(db)
  }
}

/** Takes no lock, because Kysely's lock would remain after the transaction. */
class UnlockedAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

/**
 * Lists only the migrator's tables, without columns. The migrator checks twice per migration whether its tables exist. Kysely
 * would read every column of every table each time.
 */
class MigratorTables extends PostgresIntrospector {
  readonly #db: Kysely<unknown>
  constructor(db: Kysely<unknown>) {
    super(db)
    this.#db = db
  }
  override async getTables(): Promise<TableMetadata[]> {
    const { rows } = await sql<{ schema: string; name: string }>`
      SELECT n.nspname AS schema, c.relname AS name
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind = 'r' AND strpos(c.relname, ${MIGRATIONS}) > 0`.execute(this.#db)
    return rows.map((table) => ({ ...table, isView: false, isForeign: false, columns: [] }))
  }
}

/**
 * Holds one advisory lock of the service's schema for the whole run. Without the lock, concurrent runs would collide in grants
 * and in the set-up of the queue. The lock belongs to a transaction. Behind a pooler, a session lock would stay with a connection
 * that other clients receive.
 */
export function underLock<T>(target: MigrationTarget, use: (db: Kysely<unknown>) => Promise<T>): Promise<T> {
  return withDatabase(target, async (db) => {
    const { Client = pg.Client, ...options } = underOwnSettings(target)
    const client = new Client({ ...options, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    await client.connect()
    try {
      await client.query('BEGIN')
      await client.query(endTransactionLimit('transaction'))
      await waitFor(client, db, target)
      return await use(db)
    } finally {
      await client.end()
    }
  })
}

async function waitFor(
  client: pg.Client,
  db: Kysely<unknown>,
  { names, report = printLine }: MigrationTarget,
): Promise<void> {
  const key = lockKey(names)
  const lock = { key: sql`${key}::bigint`, name: `migrations of the schema ${names.schema}`, report }
  await tellingOwners(db, lock, () => client.query('SELECT pg_advisory_xact_lock($1)', [key]))
}

export interface AwaitedLock {
  /** The key, as a SQL expression of type bigint. */
  readonly key: RawBuilder<unknown>
  /** A description of the work that the lock protects. */
  readonly name: string
  /** Called with the owner of the awaited lock. Writes to standard error by default. */
  readonly report?: ((line: string) => void) | undefined
}

/**
 * Waits for an advisory lock and reports its owner after some seconds. Any role that may connect can take the lock and keep it.
 */
export async function tellingOwners<T>(
  db: Kysely<unknown>,
  { key, name, report = printLine }: AwaitedLock,
  wait: () => Promise<T>,
): Promise<T> {
  const reportOwners = async () => {
    const owners = await listLockOwners(db, key)
    if (owners.length > 0) report(`waiting for the lock of ${name}: ${owners.join(', ')}`)
  }
  // Ignore errors of the report, because it only explains the wait. The wait itself continues and throws its own error.
  const timer = setTimeout(() => void reportOwners().catch(() => {}), TOLD_AFTER_MS)
  return wait().finally(() => clearTimeout(timer))
}

function printLine(line: string): void {
  process.stderr.write(`${line}\n`)
}

/**
 * Returns the processes that hold an advisory lock of this database, and prepared transactions, which have no process.
 * @param key an expression of type bigint
 * @returns a text for each, such as `process 123 of PostgreSQL, of the user jane, holds it`. Empty if the lock is free
 */
export async function listLockOwners(db: Kysely<unknown>, key: RawBuilder<unknown>): Promise<readonly string[]> {
  const { rows } = await sql<{ owner: string }>`
    SELECT CASE WHEN p.gid IS NULL THEN format('process %s of PostgreSQL, of the user %s, holds it', l.pid, a.usename)
      ELSE format('the prepared transaction %L of the user %s holds it until COMMIT PREPARED or ROLLBACK PREPARED', p.gid, p.owner)
      END AS owner
    FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
      LEFT JOIN (pg_locks x JOIN pg_prepared_xacts p ON p.transaction = x.transactionid)
        ON l.pid IS NULL AND x.pid IS NULL AND x.virtualtransaction = l.virtualtransaction
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND coalesce(a.usename, p.owner) IS NOT NULL
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.classid = ((${key}::bigint >> 32) & 4294967295)::oid AND l.objid = (${key}::bigint & 4294967295)::oid`.execute(
    db,
  )
  return rows.map(({ owner }) => owner)
}

function underOwnSettings({ url, hasSession }: Address): SettingsOptions {
  return underSettings({ ...OWN_PATH, ...NO_LIMITS }, { url, hasSession: hasSession === true })
}

/**
 * Returns the statement that removes `transaction_timeout`. PostgreSQL before 17 lacks this setting and refuses a connection that
 * sets it directly.
 */
function endTransactionLimit(scope: 'session' | 'transaction'): string {
  return `SELECT set_config(name, '0', ${scope === 'transaction'}) FROM pg_settings WHERE name = 'transaction_timeout'`
}

function lockKey({ schema, prefix }: Names): string {
  return createHash('sha256').update(`trestle/migrate/${schema}/${prefix}`).digest().readBigInt64BE(0).toString()
}

const LOCK_ATTEMPTS_MAX = 20
const LOCK_PAUSE_MS = 1_000
/** 55P03: the lock was not available. 40P01: PostgreSQL ended the migration because of a deadlock. */
const RETRYABLE: ReadonlySet<string | undefined> = new Set(['55P03', '40P01'])
/** The message of a lock timeout on another server. Citus forwards this message, but not always its code. */
const LOCK_TIMEOUT_ELSEWHERE = /canceling statement due to lock timeout$/

/**
 * Runs a transaction again if it waited too long for a lock, or if PostgreSQL cancelled it because of a deadlock.
 * @param run gets the number of the attempt, from 1
 * @param pauseMs the pause between attempts, in which other transactions get the lock
 * @throws Error with advice if every attempt has failed
 */
export async function againWhenLocked<T>(run: (attempt: number) => Promise<T>, pauseMs = LOCK_PAUSE_MS): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run(attempt)
    } catch (error) {
      if (!isRetryable(error)) throw error
      if (attempt === LOCK_ATTEMPTS_MAX)
        throw new Error(
          `other transactions held tables that are needed, at each of ${attempt} attempts: end the long ones that pg_stat_activity and pg_prepared_xacts list, or wait for a quieter time, and run this again`,
          { cause: error },
        )
      await pause(pauseMs)
    }
  }
}

/** The error of a migration has the database error as its cause. */
function isRetryable(error: unknown): boolean {
  const reason = error instanceof Error && error.cause !== undefined ? error.cause : error
  if (!(reason instanceof pg.DatabaseError)) return false
  return RETRYABLE.has(reason.code) || LOCK_TIMEOUT_ELSEWHERE.test(reason.message)
}
