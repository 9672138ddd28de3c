import { createHash } from 'node:crypto'
import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import { Kysely, PostgresDialect } from 'kysely'
import { type Migration, type MigrationInfo, Migrator } from 'kysely/migration'
import pg from 'pg'
import { isMarkedComplete, markComplete, unmark } from './migration-mark.ts'
import { recordStatements } from './record-statements.ts'

export interface MigrateOptions {
  /** A connection that may create schemas, tables, functions and roles. */
  readonly url: string
  readonly names: Names
  readonly sources: MigrationSources
  /** Steps after the migrations, under the same lock: the job queue's schema, grants. */
  readonly afterwards?: ReadonlyArray<(db: Kysely<unknown>) => Promise<void>>
  /** What the steps afterwards are made from, as JSON without secrets: when it changes, a start runs them again. */
  readonly settings?: unknown
}

/** What a run did: the names of the migrations that it applied or took back, in order. */
export interface MigrateResult {
  readonly migrations: readonly string[]
}

export interface MigrationStatus {
  readonly name: string
  /** Undefined while pending. */
  readonly executedAt: Date | undefined
}

/** Runs all pending migrations, then the steps afterwards. Processes that start together wait for each other. */
export function migrateUp(options: MigrateOptions): Promise<MigrateResult> {
  return underLock(options, async (db) => {
    await unmark(db, options)
    const result = await settle(createMigrator(db, options).migrateToLatest())
    for (const step of options.afterwards ?? []) await step(db)
    await markComplete(db, options)
    return result
  })
}

/** As `migrateUp`, but one statement and no lock where a complete run of the same migrations and settings was the last. */
export async function migrateAtStart(options: MigrateOptions): Promise<MigrateResult> {
  const complete = await withDatabase(options, (db) => isMarkedComplete(db, options))
  return complete ? { migrations: [] } : migrateUp(options)
}

/** Takes the last migration back. */
export function migrateDown(options: MigrateOptions): Promise<MigrateResult> {
  return underLock(options, async (db) => {
    await unmark(db, options)
    return settle(createMigrator(db, options).migrateDown())
  })
}

/** Every migration with the time of its run. Changes nothing. */
export async function migrationStatus(options: MigrateOptions): Promise<MigrationStatus[]> {
  return withDatabase(options, async (db) =>
    (await migrationInfo(db, options)).map(({ name, executedAt }) => ({ name, executedAt })),
  )
}

/** The statements that `up` would run, by migration. Changes nothing. */
export async function planMigrations(
  options: MigrateOptions,
): Promise<{ readonly name: string; readonly statements: readonly string[] }[]> {
  return withDatabase(options, async (db) => {
    const pending = (await migrationInfo(db, options)).filter(({ executedAt }) => !executedAt)
    return Promise.all(
      pending.map(async ({ name, migration }) => ({ name, statements: await recordStatements(migration) })),
    )
  })
}

/** Whether every known migration has run, seen through a connection of the service. */
// biome-ignore lint/suspicious/noExplicitAny: only the migrator's own tables are read, whatever the service's are
export async function isMigrated(db: Kysely<any>, options: Pick<MigrateOptions, 'names' | 'sources'>) {
  return (await migrationInfo(db.withoutPlugins(), options)).every(({ executedAt }) => executedAt !== undefined)
}

async function migrationInfo(
  db: Kysely<unknown>,
  options: Pick<MigrateOptions, 'names' | 'sources'>,
): Promise<readonly MigrationInfo[]> {
  return createMigrator(db, options).getMigrations()
}

function createMigrator(db: Kysely<unknown>, { names, sources }: Pick<MigrateOptions, 'names' | 'sources'>): Migrator {
  const migrations: Record<string, Migration> = {}
  for (const [name, source] of Object.entries(sources)) migrations[name] = source(names)
  return new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    migrationTableSchema: names.schema,
    migrationTableName: `${names.prefix}schema_migrations`,
    migrationLockTableName: `${names.prefix}schema_migrations_lock`,
  })
}

async function settle(run: ReturnType<Migrator['migrateToLatest']>): Promise<MigrateResult> {
  const { error, results = [] } = await run
  const failed = results.find(({ status }) => status === 'Error')
  if (error) throw new Error(`migration ${failed?.migrationName ?? ''} failed: ${describe(error)}`, { cause: error })
  return {
    migrations: results.filter(({ status }) => status === 'Success').map(({ migrationName }) => migrationName),
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function withDatabase<T>({ url }: MigrateOptions, use: (db: Kysely<unknown>) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString: url, max: 2, connectionTimeoutMillis: 5_000 })
  pool.on('error', () => {})
  // A connection that is lost while a migration holds it: its statement fails; the event must not end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    return await use(db)
  } finally {
    await db.destroy()
  }
}

/**
 * Holds one advisory lock of the service's schema for the whole run: grants and the queue's own set-up collide otherwise.
 * The lock belongs to a transaction: behind a pooler, one of a session would stay with a connection that others get.
 */
function underLock<T>(options: MigrateOptions, use: (db: Kysely<unknown>) => Promise<T>): Promise<T> {
  return withDatabase(options, async (db) => {
    const client = new pg.Client({ connectionString: options.url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    await client.connect()
    try {
      await client.query('BEGIN')
      await client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
      await client.query('SELECT pg_advisory_xact_lock($1)', [lockKey(options.names)])
      return await use(db)
    } finally {
      await client.end()
    }
  })
}

function lockKey({ schema, prefix }: Names): string {
  return createHash('sha256').update(`trestle/migrate/${schema}/${prefix}`).digest().readBigInt64BE(0).toString()
}
