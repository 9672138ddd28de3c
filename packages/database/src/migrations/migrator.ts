import type { MigrationSources, Names, ServiceMigration } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql, type Transaction } from 'kysely'
import { type Migration, type MigrationResultSet, Migrator, NO_MIGRATIONS } from 'kysely/migration'
import { setSequential } from '../distribution/citus.ts'
import { migrateForward } from '../distribution/place-migration.ts'
import { againWhenLocked } from './again-when-locked.ts'
import { type AwaitedLock, tellingOwners } from './migration-connection.ts'
import { MIGRATIONS, migratorTable, migratorTables } from './migrator-tables.ts'

/** The migrations of a service, and where they run. */
export interface Migrations {
  readonly names: Names
  readonly sources: MigrationSources
  /**
   * Runs before the first migration of a database, in the same transaction. What it returns runs after the last one. It may
   * refuse the database. `attempt` counts from 1: a transaction that gives way to others is tried again.
   */
  readonly beforeFirst?:
    | ((trx: Kysely<unknown>, attempt: number) => Promise<(trx: Kysely<unknown>) => Promise<void>>)
    | undefined
  /** Runs first in each transaction of `runOneByOne`, again in each attempt. */
  readonly beforeEach?: (trx: Kysely<unknown>) => Promise<void>
  /**
   * How long a migration waits for a lock, in milliseconds; by default 3,000. Where another program serves
   * from the same tables, it is less than the second after which PostgreSQL looks for deadlocks: the
   * migration gives way, and no request of that program fails.
   */
  readonly lockWaitMs?: number
}

/** A migration that has run, even if this release does not know it. */
export interface ExecutedMigration {
  readonly name: string
  readonly executedAt: Date
}

/** A migration that waits for a lock blocks every request behind it. So it gives up, lets these run, and tries again. */
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

/** Names of the migrations that have not run, and of those that have run and that this release does not know. */
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
 * Runs the pending migrations. An empty database gets all of them or none. Otherwise each migration has a transaction of its
 * own, so that none holds its locks during the next.
 * @returns the names of those that ran, in order
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
 * Runs the pending migrations, each in a transaction of its own, on an empty database too.
 * @returns the names of those that ran, in order
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

/** Runs the pending migrations in one transaction, after `beforeFirst`. @returns the names of those that ran, in order */
export function runTogether(db: Kysely<unknown>, migrations: Migrations): Promise<readonly string[]> {
  return runStep(db, migrations, (migrator) => migrator.migrateToLatest(), migrations.beforeFirst)
}

/**
 * Takes back all migrations in one transaction, the last one first, and drops the migrator's own tables.
 * @param before runs first. What it returns runs at the end
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

/** Takes back the migration that ran last. @returns its name; empty if none has run */
export function takeBackLast(db: Kysely<unknown>, migrations: Migrations): Promise<readonly string[]> {
  return runStep(db, migrations, (migrator) => migrator.migrateDown())
}

/**
 * Runs a transaction when no other migration of this service runs. The last statement or the commit of a killed process may
 * still be under way.
 *
 * Lock order: the lock of `underLock`, this lock. Nobody takes the first while holding the second.
 * @param report is told who holds the lock, after some seconds; by default standard error is
 */
export function inTurn<T>(
  db: Kysely<unknown>,
  { schema, prefix }: Names,
  use: (trx: Transaction<unknown>) => Promise<T>,
  report?: AwaitedLock['report'],
): Promise<T> {
  const key = sql`hashtextextended(${`trestle/migration/${schema}/${prefix}`}, 0)`
  const lock = { key, name: `a migration of the schema ${schema}`, report }
  return inLatest(db).execute(async (trx) => {
    await tellingOwners(db, lock, () => sql`SELECT pg_advisory_xact_lock(${key})`.execute(trx))
    await setSequential(trx)
    return use(trx)
  })
}

/** A transaction that sees what others commit while it waits for a lock, whatever `default_transaction_isolation` is. */
export function inLatest(db: Kysely<unknown>): ReturnType<Kysely<unknown>['transaction']> {
  return db.transaction().setIsolationLevel('read committed')
}

type Step = (migrator: Migrator) => ReturnType<Migrator['migrateToLatest']>

/** Runs a step of the migrator, again if it gave way to other transactions. */
function runStep(
  db: Kysely<unknown>,
  migrations: Migrations,
  step: Step,
  before: Migrations['beforeFirst'] = async () => async () => {},
): Promise<readonly string[]> {
  return againWhenLocked((attempt) =>
    inTurn(db, migrations.names, async (trx) => {
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

function createMigrator(db: Kysely<unknown>, { names, sources, lockWaitMs = LOCK_WAIT_MS }: Migrations): Migrator {
  const load = async ([name, source]: [string, MigrationSources[string]]) => [
    name,
    withLockTimeout(names, await source(names), lockWaitMs),
  ]
  return new Migrator({
    db,
    provider: { getMigrations: async () => Object.fromEntries(await Promise.all(Object.entries(sources).map(load))) },
    migrationTableSchema: names.schema,
    migrationTableName: migratorTable(names, MIGRATIONS),
    migrationLockTableName: migratorTable(names, `${MIGRATIONS}_lock`),
    // A branch may merge a lower number after a higher one has run.
    allowUnorderedMigrations: true,
  })
}

function withLockTimeout(names: Names, migration: ServiceMigration, lockWaitMs: number): Migration {
  const { down } = migration
  const limitLockWait = (db: Kysely<unknown>) => sql`SET LOCAL lock_timeout = ${sql.lit(lockWaitMs)}`.execute(db)
  return {
    up: async (db) => {
      await limitLockWait(db)
      await migrateForward(db, names, migration)
    },
    ...(down && {
      down: async (db: Kysely<unknown>) => {
        await limitLockWait(db)
        await down(db)
      },
    }),
  }
}
