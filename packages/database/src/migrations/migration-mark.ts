import { createHash } from 'node:crypto'
import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import type { Callers } from '../rights/callers.ts'
import { queueRights } from '../rights/queue-rights.ts'
import type { ServiceFunctions } from './functions.ts'
import { MIGRATIONS, migratorTable } from './migrator-tables.ts'

/** The inputs of a complete run of `migrate up`. A start with the same inputs has nothing to do. */
export interface MarkedRun {
  readonly names: Names
  readonly sources: MigrationSources
  readonly functions?: ServiceFunctions | undefined
  /** The settings that the steps after the migrations depend on, as JSON: roles, queues, versions. */
  readonly settings?: unknown
  /** Roles of other programs that may call functions. */
  readonly callers?: Callers | undefined
}

/**
 * Marks the database as up to date, in a comment on the table of migrations, so that the next start skips the run. The mark
 * contains the rights of the schemas: a database that was restored without them, or that has lost its queue, is not up to date.
 * The mark also contains the callers' roles that exist: a role that was made since has no rights yet.
 */
export async function markComplete(db: Kysely<unknown>, run: MarkedRun): Promise<void> {
  const { rows } = await stateQuery(run).execute(db)
  await writeComment(db, run.names, sql.lit(await computeMark(run, rows[0]?.rights)))
}

/** Removes the mark, before anything changes. */
export async function unmark(db: Kysely<unknown>, run: MarkedRun): Promise<void> {
  const { rows } = await stateQuery(run).execute(db)
  if (typeof rows[0]?.note === 'string') await writeComment(db, run.names, sql.lit(null))
}

/** Whether the last complete run had the same migrations, functions and settings. One statement. */
export async function isMarkedComplete(db: Kysely<unknown>, run: MarkedRun): Promise<boolean> {
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
