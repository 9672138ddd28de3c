import type { FunctionFiles } from '@trestle/migrations/functions.ts'
import type { MigrationSources, Names, ServiceMigration } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql, type Transaction } from 'kysely'
import { type Migration, type MigrationResultSet, Migrator, NO_MIGRATIONS } from 'kysely/migration'
import { MIGRATIONS, migratorTable, migratorTables } from '../names.ts'
import { type AwaitedLock, againWhenLocked, tellingOwners } from './migration-connection.ts'

/** The cluster functions of a service whose database may be distributed. Each function also works on a single server. */
export interface Cluster {
  /** @throws Error if only another server has all tables */
  readonly expectCoordinator: (db: QueryExecutorProvider) => Promise<void>
  /** @throws Error if only another server has all tables, or while rows move between servers */
  readonly expectWhole: (db: QueryExecutorProvider, names: Names) => Promise<void>
  /** Runs first in each transaction that changes the schema. Afterwards the transaction waits for locks without a limit. */
  readonly setSequential: (trx: Kysely<unknown>) => Promise<void>
  /** Prevents later statements of the transaction from being sent to other servers. */
  readonly keepOnCoordinator: (trx: Kysely<unknown>) => Promise<unknown>
  readonly migrateForward: (trx: Kysely<unknown>, names: Names, migration: ServiceMigration) => Promise<void>
  /** Creates roles and the service's sequences on every server. */
  readonly prepareServers: (db: Kysely<unknown>, names: Names, roles: readonly string[]) => Promise<void>
  /** Distributes functions that were installed in the same transaction. */
  readonly placeFunctions: (trx: Kysely<unknown>, names: Names, files: FunctionFiles) => Promise<void>
  /** Changes functions in the schema `stage` in the same way as `placeFunctions` changes the functions of the service. */
  readonly rehearseFunctions: (trx: Kysely<unknown>, names: Names, stage: Names) => Promise<void>
}

export interface Migrations {
  readonly names: Names
  readonly sources: MigrationSources
  readonly cluster?: Cluster | undefined
  /**
   * Runs before the first migration of a database, in the same transaction. The returned function runs after the last migration.
   * It may refuse the database. `attempt` counts from 1, because a transaction that is cancelled in favour of others is tried
   * again.
   */
  readonly beforeFirst?:
    | ((trx: Kysely<unknown>, attempt: number) => Promise<(trx: Kysely<unknown>) => Promise<void>>)
    | undefined
  /** Runs first in each transaction of `runOneByOne`, and again in each attempt. */
  readonly beforeEach?: (trx: Kysely<unknown>) => Promise<void>
  /**
   * How long a migration waits for a lock, in milliseconds. 3,000 by default. If another program uses the same tables, set it
   * below one second, after which PostgreSQL looks for deadlocks. The migration then gives up first, so no request of that
   * program fails.
   */
  readonly lockWaitMs?: number
}

/** A migration that has run, even if this release does not know it. */
export interface ExecutedMigration {
  readonly name: string
  readonly executedAt: Date
}

/** A waiting migration blocks all requests behind it. After this time it lets them run, and tries again. */
const LOCK_WAIT_MS = 3_000

/** Lists the migrations that have run, in the order of their run. */
export async function listExecuted(db: QueryExecutorProvider, names: Names): Promise<readonly ExecutedMigration[]> {
  const table = sql.id(names.schema, migratorTable(names, MIGRATIONS))
  const text = `"${names.schema}"."${migratorTable(names, MIGRATIONS)}"`
  const { rows } = await sql<{ exists: boolean }>`SELECT to_regclass(${text}) IS NOT NULL AS "exists"`.execute(db)
  if (!rows[0]?.exists) return []
  const executed = await sql<{ name: string; timestamp: string }>`
    SELECT name, timestamp FROM ${table} ORDER BY timestamp, name`.execute(db)
  return executed.rows.map(({ name, timestamp }) => ({ name, executedAt: new Date(timestamp) }))
}

/** Returns the names of pending migrations, and of executed migrations that this release does not know. */
export async function compareMigrations(
  db: QueryExecutorProvider,
  { names, sources }: Pick<Migrations, 'names' | 'sources'>,
): Promise<{ readonly pending: readonly string[]; readonly unknown: readonly string[] }> {
  const executed = new Set((await listExecuted(db, names)).map(({ name }) => name))
  return {
    pending: Object.keys(sources).filter((name) => !executed.has(name)),
    unknown: [...executed].filter((name) => !(name in sources)),
  }
}

/**
 * Runs the pending migrations. An empty database gets all of them or none. In other databases each migration has its own
 * transaction, so that it holds no locks during the next one.
 * @returns the names of the executed migrations, in order
 */
export async function runPending(
  db: Kysely<unknown>,
  migrations: Migrations,
  pending: readonly string[],
): Promise<readonly string[]> {
  if (pending.length === Object.keys(migrations.sources).length) return runTogether(db, migrations)
  return runOneByOne(db, migrations, pending)
}

/**
 * Runs the pending migrations, each in its own transaction, even on an empty database.
 * @returns the names of the executed migrations, in order
 */
export async function runOneByOne(
  db: Kysely<unknown>,
  migrations: Migrations,
  pending: readonly string[],
): Promise<readonly string[]> {
  const ran: string[] = []
  const before = async (trx: Kysely<unknown>) => {
    await migrations.beforeEach?.(trx)
    return async () => {}
  }
  for (const _ of pending) ran.push(...(await runStep(db, migrations, (migrator) => migrator.migrateUp(), before)))
  return ran
}

/** Runs the pending migrations in one transaction, after `beforeFirst`. @returns their names, in order */
export function runTogether(db: Kysely<unknown>, migrations: Migrations): Promise<readonly string[]> {
  return runStep(db, migrations, (migrator) => migrator.migrateToLatest(), migrations.beforeFirst)
}

/**
 * Reverts all migrations in one transaction, the last one first, and drops the migrator's own tables.
 * @param before runs first. The returned function runs at the end
 */
export function takeBackAll(
  db: Kysely<unknown>,
  migrations: Migrations,
  before: NonNullable<Migrations['beforeFirst']>,
): Promise<readonly string[]> {
  return runStep(
    db,
    migrations,
    (migrator) => migrator.migrateTo(NO_MIGRATIONS),
    async (trx, attempt) => {
      const after = await before(trx, attempt)
      return async (later) => {
        for (const table of migratorTables) {
          await sql`DROP TABLE IF EXISTS ${sql.id(migrations.names.schema, migratorTable(migrations.names, table))}`.execute(
            later,
          )
        }
        await after(later)
      }
    },
  )
}

/** Reverts the last migration. @returns its name, or an empty list if no migration has run */
export function takeBackLast(db: Kysely<unknown>, migrations: Migrations): Promise<readonly string[]> {
  return runStep(db, migrations, (migrator) => migrator.migrateDown())
}

/**
 * Runs a transaction while no other migration of this service runs. The lock also waits for the last statement or the commit of a
 * killed process.
 *
 * Lock order: the lock of `underLock`, this lock. A holder of the second lock never takes the first.
 * @param report called with the owner of the lock after some seconds. Writes to standard error by default
 */
export function underMigrationLock<T>(
  db: Kysely<unknown>,
  { names: { schema, prefix }, cluster }: Pick<Migrations, 'names' | 'cluster'>,
  use: (trx: Transaction<unknown>) => Promise<T>,
  report?: AwaitedLock['report'],
): Promise<T> {
  const key = sql`hashtextextended(${`trestle/migration/${schema}/${prefix}`}, 0)`
  const lock = { key, name: `a migration of the schema ${schema}`, report }
  return inLatest(db).execute(async (trx) => {
    await tellingOwners(db, lock, () => sql`SELECT pg_advisory_xact_lock(${key})`.execute(trx))
    await (cluster ? cluster.setSequential(trx) : sql`SET LOCAL lock_timeout = 0`.execute(trx))
    return use(trx)
  })
}

/** Returns a transaction that sees commits made while it waits for a lock, whatever `default_transaction_isolation` is. */
export function inLatest(db: Kysely<unknown>): ReturnType<Kysely<unknown>['transaction']> {
  return db.transaction().setIsolationLevel('read committed')
}

type Step = (migrator: Migrator) => ReturnType<Migrator['migrateToLatest']>

/** Runs a step of the migrator. Runs it again if it was cancelled in favour of other transactions. */
function runStep(
  db: Kysely<unknown>,
  migrations: Migrations,
  step: Step,
  before: Migrations['beforeFirst'] = async () => async () => {},
): Promise<readonly string[]> {
  return againWhenLocked((attempt) =>
    underMigrationLock(db, migrations, async (trx) => {
      const after = await before(trx, attempt)
      const applied = namesOfApplied(await step(createMigrator(trx, migrations)))
      await after(trx)
      return applied
    }),
  )
}

function namesOfApplied({ error, results = [] }: MigrationResultSet): readonly string[] {
  if (error) {
    const failed = results.find(({ status }) => status === 'Error')
    const what = failed === undefined ? 'migrations' : `migration ${failed.migrationName}`
    throw new Error(`${what} failed: ${messageOf(error)}`, { cause: error })
  }
  return results.filter(({ status }) => status === 'Success').map(({ migrationName }) => migrationName)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function createMigrator(db: Kysely<unknown>, migrations: Migrations): Migrator {
  const { names, sources } = migrations
  const load = async ([name, source]: [string, MigrationSources[string]]) => [
    name,
    withLockTimeout(migrations, await source(names)),
  ]
  return new Migrator({
    db,
    provider: { getMigrations: async () => Object.fromEntries(await Promise.all(Object.entries(sources).map(load))) },
    migrationTableSchema: names.schema,
    migrationTableName: migratorTable(names, MIGRATIONS),
    migrationLockTableName: migratorTable(names, `${MIGRATIONS}_lock`),
    // A merged branch may add a lower number after a higher one has run.
    allowUnorderedMigrations: true,
  })
}

function withLockTimeout(
  { names, cluster, lockWaitMs = LOCK_WAIT_MS }: Migrations,
  migration: ServiceMigration,
): Migration {
  const { down } = migration
  const limitLockWait = (db: Kysely<unknown>) => sql`SET LOCAL lock_timeout = ${sql.lit(lockWaitMs)}`.execute(db)
  return {
    up: async (db) => {
      await limitLockWait(db)
      await (cluster ? cluster.migrateForward(db, names, migration) : migration.up(db))
    },
    ...(down && {
      down: async (db: Kysely<unknown>) => {
        await limitLockWait(db)
        await down(db)
      },
    }),
  }
}
