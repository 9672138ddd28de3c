import { createHash } from 'node:crypto'
import type { FunctionFiles } from '@trestle/migrations/functions.ts'
import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { MIGRATIONS, migratorTable } from '../names.ts'
import { rehearseExecuted } from '../rehearsal/drift.ts'
import { type Callers, grantToCallers } from '../rights/function-rights.ts'
import { type Grants, grantToRole, queueRights } from '../rights/roles.ts'
import {
  areInstalled,
  compareFunctions,
  dropFunctions,
  type FunctionChanges,
  hasChanges,
  installFunctions,
  type ServiceFunctions,
} from './functions.ts'
import { type MigrationTarget, underLock, withDatabase } from './migration-connection.ts'
import {
  compareMigrations,
  listExecuted,
  type Migrations,
  runPending,
  takeBackLast,
  underMigrationLock,
} from './migrator.ts'

/** The input of a migration run: the database, the migrations and functions, and the rights that are granted at the end. */
export interface MigrateOptions extends MigrationTarget, Migrations {
  readonly functions?: ServiceFunctions | undefined
  /** Checks that run first in `up` and in `down`, under the lock. Each may refuse the database. */
  readonly expectFit?: ((db: Kysely<unknown>) => Promise<void>) | undefined
  readonly expectReversible?: ((db: Kysely<unknown>) => Promise<void>) | undefined
  /** Steps after the migrations, under the same lock, such as those for the schema of the job queue. */
  readonly afterwards?: ReadonlyArray<(db: Kysely<unknown>) => Promise<void>>
  /** The rights of the service's role, granted last. `undefined` if the service works as its own user. */
  readonly grants?: Grants | undefined
  /** Roles of other programs that may call functions. */
  readonly callers?: Callers | undefined
  /** Creates objects that the service can do without. @returns a line of advice for each that could not be created */
  readonly createOptional?: ((db: Kysely<unknown>) => Promise<readonly string[]>) | undefined
  /** The settings of the later steps, as JSON without secrets. If they change, the next start runs the steps again. */
  readonly settings?: unknown
}

/** The outcome of a run. All lists are empty if the database was up to date. */
export interface MigrateResult {
  /** The names of the applied or reverted migrations, in order. */
  readonly migrations: readonly string[]
  /** The names of the installed or dropped functions. */
  readonly functions: readonly string[]
  /** The release whose functions were kept although this release has others. `undefined` if none were kept. */
  readonly keptRelease: string | undefined
  /** A line of advice for each object that could not be created. `undefined` if all were created. */
  readonly notes?: readonly string[] | undefined
}

export interface MigrationStatus {
  readonly name: string
  /** `undefined` if the migration is pending. */
  readonly executedAt: Date | undefined
  /** `false` for a migration of a later release. */
  readonly isKnown: boolean
}

/**
 * Runs all pending migrations, installs the functions that have changed, then runs the later steps. Processes that start together
 * wait for each other. If a later release has migrated the database, and the database has everything that this release needs,
 * nothing changes.
 * @throws Error if migrations are pending in a database of a later release, or if a migration fails
 */
export function migrateUp(options: MigrateOptions): Promise<MigrateResult> {
  return bringUp(options, 'functions of this release too')
}

/**
 * Returns whether the last run was complete and had the same migrations, functions and settings. Takes no lock.
 * @throws Error if the database is only partly distributed
 */
export function isUpToDate(options: MigrateOptions): Promise<boolean> {
  return withDatabase(options, async (db) => {
    // The mark does not show an unfinished `distribute`, which changes no migration and no function.
    await options.cluster?.expectWhole(db, options.names)
    return isMarkedComplete(db, options)
  })
}

/**
 * Does the same as `migrateUp`, unless the database is up to date. Replaces functions of its own release only in development.
 * Otherwise processes with two builds of a release would replace each other's functions.
 * @throws Error if migrations are pending in a database of a later release, if the database is only partly distributed, or if a
 * migration fails
 */
export async function migrateAtStart(options: MigrateOptions): Promise<MigrateResult> {
  if (await isUpToDate(options)) return { migrations: [], functions: [], keptRelease: undefined }
  const { replacesOwnRelease } = options.functions ?? {}
  return bringUp(options, replacesOwnRelease ? 'functions of this release too' : 'functions of earlier releases')
}

type Replaceable = 'functions of earlier releases' | 'functions of this release too'

function bringUp(options: MigrateOptions, replaceable: Replaceable): Promise<MigrateResult> {
  return underLock(options, async (db) => {
    const { names, functions } = options
    await options.expectFit?.(db)
    await options.cluster?.expectWhole(db, names)
    const changes = functions && (await compareFunctions(db, names, functions))
    const { pending, unknown } = await compareMigrations(db, options)
    const isOfLaterRelease = unknown.length > 0 || changes?.isLater === true
    if (isOfLaterRelease && pending.length > 0) {
      throw new Error(`the database has migrations of another release: ${unknown.join(', ') || changes?.installed}`)
    }
    const isKept =
      isOfLaterRelease || (replaceable === 'functions of earlier releases' && changes?.installed === functions?.release)
    const keptRelease = isKept && changes !== undefined && hasChanges(changes) ? changes.installed : undefined
    if (isOfLaterRelease && changes !== undefined && changes.installed === undefined) {
      throw new Error('no functions are installed: run migrate up --functions')
    }
    // An earlier release runs at the same time as a later one, or after a roll-back. The database has everything that it needs.
    if (isOfLaterRelease) return { migrations: [], functions: [], keptRelease }
    await underMigrationLock(db, options, (trx) => unmark(trx, options))
    const migrations = await runPending(db, options, pending)
    await options.cluster?.prepareServers(db, names, rolesOf(options.grants))
    const installed = keptRelease === undefined ? await install(db, options) : []
    for (const step of options.afterwards ?? []) await step(db)
    const notes = (await options.createOptional?.(db)) ?? []
    await underMigrationLock(db, options, async (trx) => {
      await grant(trx, options)
      if (keptRelease === undefined) await markComplete(trx, options)
    })
    return { migrations, functions: installed, keptRelease, notes: notes.length > 0 ? notes : undefined }
  })
}

function rolesOf(grants: MigrateOptions['grants']): readonly string[] {
  return [grants?.role, grants?.operators?.role].filter((role) => role !== undefined)
}

/**
 * Installs all functions of this release, even if a later release has installed its own. Use it after a roll-back.
 * @throws Error if migrations are pending, because the functions need their tables
 */
export function reinstallFunctions(options: MigrateOptions): Promise<MigrateResult> {
  return underLock(options, async (db) => {
    const { pending } = await compareMigrations(db, options)
    if (pending.length > 0) throw new Error(`migrations are pending, run them first: ${pending.join(', ')}`)
    await underMigrationLock(db, options, (trx) => unmark(trx, options))
    const functions = await install(db, options, 'all')
    await underMigrationLock(db, options, (trx) => grant(trx, options))
    return { migrations: [], functions, keptRelease: undefined }
  })
}

async function install(
  db: Kysely<unknown>,
  options: MigrateOptions,
  which: 'changed' | 'all' = 'changed',
): Promise<readonly string[]> {
  const { names, functions } = options
  if (!functions) return []
  const { installed, kept } = await underMigrationLock(db, options, async (trx) => {
    const done = await installFunctions(trx, names, { functions, which })
    await options.cluster?.placeFunctions(trx, names, functions.files)
    return done
  })
  await restoreTexts(db, options, kept)
  return installed
}

/**
 * Restores functions of triggers whose files are gone. A trigger's function cannot be dropped. Such a function gets its text from
 * the migration, which is what the release without the file expects.
 */
async function restoreTexts(db: Kysely<unknown>, options: MigrateOptions, kept: readonly string[]): Promise<void> {
  if (kept.length === 0) return
  const { names } = options
  const made = await rehearseExecuted(db, options)
  await underMigrationLock(db, options, async (trx) => {
    for (const [object, text] of made) {
      if (kept.some((name) => object.startsWith(`function ${names.prefix}${name}(`))) await sql.raw(text).execute(trx)
    }
  })
}

async function grant(trx: Kysely<unknown>, { names, functions, grants, callers }: MigrateOptions): Promise<void> {
  if (callers) await grantToCallers(trx, names, callers)
  if (grants) await grantToRole(trx, { names, invoker: functions?.invoker, ...grants })
}

/**
 * Reverts the last migration. Drops all functions first, because they may need what the migration removes.
 * @throws Error if the database has migrations of a later release, or `expectReversible` refuses it. Nothing changes then
 */
export function migrateDown(options: MigrateOptions): Promise<MigrateResult> {
  return underLock(options, async (db) => {
    const { names } = options
    await options.expectReversible?.(db)
    const { unknown } = await compareMigrations(db, options)
    if (unknown.length > 0) throw new Error(`the database has migrations of another release: ${unknown.join(', ')}`)
    const kept = await underMigrationLock(db, options, async (trx) => {
      await unmark(trx, options)
      return dropFunctions(trx, names)
    })
    const migrations = await takeBackLast(db, options)
    await restoreTexts(db, options, kept)
    return { migrations, functions: [], keptRelease: undefined }
  })
}

/** Lists every migration of this release, followed by those of later releases, with the time of their run. Changes nothing. */
export async function readMigrationStatus({ names, sources, ...target }: MigrateOptions): Promise<MigrationStatus[]> {
  const executed = await withDatabase(target, (db) => listExecuted(db, names))
  const times = new Map(executed.map(({ name, executedAt }) => [name, executedAt]))
  const known = Object.keys(sources).map((name) => ({ name, executedAt: times.get(name), isKnown: true }))
  const unknown = executed
    .filter(({ name }) => !(name in sources))
    .map((migration) => ({ ...migration, isKnown: false }))
  return [...known, ...unknown]
}

/** How the functions of this release differ from the installed ones. `undefined` if the service has none. */
export async function compareTexts({ names, functions, url }: MigrateOptions): Promise<FunctionChanges | undefined> {
  return functions && withDatabase({ url }, (db) => compareFunctions(db, names, functions))
}

/** Returns whether every known migration has run and every function is installed. Uses a connection of the service. */
export async function isMigrated<Tables>(
  db: Kysely<Tables>,
  { names, sources, files }: Pick<MigrateOptions, 'names' | 'sources'> & { readonly files: FunctionFiles },
): Promise<boolean> {
  const plain = db.withoutPlugins()
  if ((await compareMigrations(plain, { names, sources })).pending.length > 0) return false
  return areInstalled(plain, names, files)
}

/** The inputs of a complete `migrate up`. A start with the same inputs can skip the run. */
interface MarkedRun {
  readonly names: Names
  readonly sources: MigrationSources
  readonly functions?: ServiceFunctions | undefined
  /** The settings that the steps after the migrations depend on, as JSON: roles, queues, versions. */
  readonly settings?: unknown
  /** Roles of other programs that may call functions. */
  readonly callers?: Callers | undefined
}

/**
 * Marks the database as up to date with a comment on the table of migrations, so that the next start skips the run. The mark
 * contains the rights of the schemas, so a database that was restored without rights or has lost its queue does not count as up
 * to date. The mark also contains the existing roles of `callers`, because a role that is created later has no rights yet.
 */
async function markComplete(db: Kysely<unknown>, run: MarkedRun): Promise<void> {
  const { rows } = await stateQuery(run).execute(db)
  await writeComment(db, run.names, sql.lit(await computeMark(run, rows[0]?.rights)))
}

/** Removes the mark. Call it before any change. */
async function unmark(db: Kysely<unknown>, run: MarkedRun): Promise<void> {
  const { rows } = await stateQuery(run).execute(db)
  if (typeof rows[0]?.note === 'string') await writeComment(db, run.names, sql.lit(null))
}

/** Returns whether the last complete run had the same migrations, functions and settings. Uses one statement. */
async function isMarkedComplete(db: Kysely<unknown>, run: MarkedRun): Promise<boolean> {
  const { rows } = await stateQuery(run).execute(db)
  return rows[0]?.note === (await computeMark(run, rows[0]?.rights))
}

interface State {
  readonly note: string | null
  readonly rights: string
}

function stateQuery({ names, callers }: MarkedRun) {
  const { schema, jobSchema } = names
  return sql<State>`
    SELECT obj_description(to_regclass(${`"${schema}"."${migratorTable(names, MIGRATIONS)}"`}), 'pg_class') AS note,
      (SELECT json_agg(json_build_array(nspname, nspacl::text) ORDER BY nspname)::text FROM pg_namespace
       WHERE nspname IN (${schema}, ${jobSchema})) || (SELECT coalesce(string_agg(rolname, ',' ORDER BY rolname), '')
       FROM pg_roles WHERE rolname = ANY (${callers?.roles ?? []}::text[])) AS rights`
}

async function computeMark(run: MarkedRun, rights: string | undefined): Promise<string> {
  const { sources, settings, functions } = run
  const texts = (await functions?.files())?.map(({ hash }) => hash)
  const text = JSON.stringify([Object.keys(sources), functions?.release, texts, settings, rights, queueRights])
  return `complete ${createHash('sha256').update(text).digest('base64url')}`
}

async function writeComment(db: Kysely<unknown>, names: Names, note: ReturnType<typeof sql.lit>): Promise<void> {
  await sql`COMMENT ON TABLE ${sql.id(names.schema, migratorTable(names, MIGRATIONS))} IS ${note}`.execute(db)
}
