import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import type { Kysely } from 'kysely'
import { type CallableFunctions, releaseFunctions, secureFunctions } from './function-rights.ts'
import { type MigrationTarget, underLock, withDatabase } from './migration-connection.ts'
import { isMarkedComplete, markComplete, unmark } from './migration-mark.ts'
import { inTurn, listExecuted, runPending, takeBackLast } from './migrator.ts'
import { type Grants, grantToRole } from './roles.ts'

export interface MigrateOptions extends MigrationTarget {
  readonly sources: MigrationSources
  /** Steps after the migrations, under the same lock, for what has a schema of its own: the job queue. */
  readonly afterwards?: ReadonlyArray<(db: Kysely<unknown>) => Promise<void>>
  /** Functions that run with the rights of their owner, whether the service has a role of its own or not. */
  readonly functions?: CallableFunctions | undefined
  /** The rights of the role that the service works as, given last; undefined where it works as its own user. */
  readonly grants?: Grants | undefined
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
  /** False for one of a newer version. */
  readonly isKnown: boolean
}

/**
 * Runs all pending migrations, then the steps afterwards. Processes that start together wait for each other. A database that
 * a newer version has migrated is left as it is, as long as it has all that this version needs.
 */
export function migrateUp(options: MigrateOptions): Promise<MigrateResult> {
  return underLock(options, async (db) => {
    const { names, sources, functions, grants } = options
    if ((await listExecuted(db, names)).some(({ name }) => !(name in sources))) {
      return { migrations: await runPending(db, options) }
    }
    await inTurn(db, names, (trx) => unmark(trx, options))
    const migrations = await runPending(db, options)
    for (const step of options.afterwards ?? []) await step(db)
    await inTurn(db, names, async (trx) => {
      if (functions) await secureFunctions(trx, names, functions)
      if (grants) await grantToRole(trx, { names, functions, ...grants })
      await markComplete(trx, options)
    })
    return { migrations }
  })
}

/** Whether a complete run of the same migrations and settings was the last: one statement, and no lock. */
export function isUpToDate(options: MigrateOptions): Promise<boolean> {
  return withDatabase(options, (db) => isMarkedComplete(db, options))
}

/** As `migrateUp`, unless the database is up to date. */
export async function migrateAtStart(options: MigrateOptions): Promise<MigrateResult> {
  return (await isUpToDate(options)) ? { migrations: [] } : migrateUp(options)
}

/** Takes the last migration back. */
export function migrateDown(options: MigrateOptions): Promise<MigrateResult> {
  return underLock(options, async (db) => {
    await inTurn(db, options.names, async (trx) => {
      await unmark(trx, options)
      if (options.functions) await releaseFunctions(trx, options.names)
    })
    return { migrations: await takeBackLast(db, options) }
  })
}

/** Every migration of this version, then those of a newer one, with the time of its run. Changes nothing. */
export async function migrationStatus({ names, sources, ...target }: MigrateOptions): Promise<MigrationStatus[]> {
  const executed = await withDatabase(target, (db) => listExecuted(db, names))
  const times = new Map(executed.map(({ name, executedAt }) => [name, executedAt]))
  const known = Object.keys(sources).map((name) => ({ name, executedAt: times.get(name), isKnown: true }))
  const unknown = executed
    .filter(({ name }) => !(name in sources))
    .map((migration) => ({ ...migration, isKnown: false }))
  return [...known, ...unknown]
}

/** Whether every known migration has run, seen through a connection of the service. */
export async function isMigrated(
  // biome-ignore lint/suspicious/noExplicitAny: only the migrator's own tables are read, whatever the service's are
  db: Kysely<any>,
  { names, sources }: { readonly names: Names; readonly sources: MigrationSources },
): Promise<boolean> {
  const executed = new Set((await listExecuted(db.withoutPlugins(), names)).map(({ name }) => name))
  return Object.keys(sources).every((name) => executed.has(name))
}
