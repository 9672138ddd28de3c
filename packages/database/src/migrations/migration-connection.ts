import { createHash } from 'node:crypto'
import type { Names } from '@trestle/migrations/migration.ts'
import { Kysely } from 'kysely'
import pg from 'pg'
import { OWN_PATH, type SettingsOptions, underSettings } from '../driver/session-settings.ts'
import { migrationDialect } from './migrator.ts'

/** The database that migrations run in, and the user who runs them. */
export interface MigrationTarget {
  /** A connection that may create schemas, tables, functions and roles. */
  readonly url: string
  readonly names: Names
  /** True: the work needs sessions of its own, which no pooler in transaction mode gives. By default it runs behind one too. */
  readonly hasSession?: true
}

/** The address of a database, and how to connect to it. */
type Address = Pick<MigrationTarget, 'url' | 'hasSession'>

/** Opens a database for one piece of work, and closes it however the work ends. It sets no statement timeout. */
export async function withDatabase<T>(address: Address, use: (db: Kysely<unknown>) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ ...underOwnPath(address), max: 2, connectionTimeoutMillis: 5_000 })
  pool.on('error', () => {})
  // If a connection is lost during a migration, its statement fails. The error event must not end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  const db = new Kysely<unknown>({ dialect: migrationDialect(pool) })
  try {
    return await use(db)
  } finally {
    await db.destroy()
  }
}

/**
 * Holds one advisory lock of the service's schema for the whole run. Without it, grants and the set-up of the queue would
 * collide. The lock belongs to a transaction: behind a pooler, a lock of a session would stay with a connection that others
 * get.
 */
export function underLock<T>(target: MigrationTarget, use: (db: Kysely<unknown>) => Promise<T>): Promise<T> {
  return withDatabase(target, async (db) => {
    const { Client = pg.Client, ...options } = underOwnPath(target)
    const client = new Client({ ...options, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    await client.connect()
    try {
      await client.query('BEGIN')
      await client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
      await client.query('SELECT pg_advisory_xact_lock($1)', [lockKey(target.names)])
      return await use(db)
    } finally {
      await client.end()
    }
  })
}

function underOwnPath({ url, hasSession }: Address): SettingsOptions {
  return underSettings(OWN_PATH, { url, hasSession: hasSession === true })
}

function lockKey({ schema, prefix }: Names): string {
  return createHash('sha256').update(`trestle/migrate/${schema}/${prefix}`).digest().readBigInt64BE(0).toString()
}
