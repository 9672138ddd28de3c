import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { listExecuted, type Migrations } from '../migrations/migrator.ts'
import { createNames } from '../names.ts'

/** A schema in which migrations are tried out, beside the schema of the service. Nobody else uses it. */
export function rehearsalNames({ schema, prefix }: Names): Names {
  return createNames(`${prefix}${schema}_rehearsal`, prefix)
}

/** Replaces the name of the rehearsal's schema in a text by the name of the service's schema. */
export function translate(text: string, stage: Names, names: Names): string {
  return text.replaceAll(stage.schema, names.schema)
}

/**
 * The migrations that have run in a database, in the order of their run.
 * @throws Error if another release has run one
 */
export async function findExecutedSources(
  db: Kysely<unknown>,
  { names, sources }: { readonly names: Names; readonly sources: MigrationSources },
): Promise<MigrationSources> {
  const executed = (await listExecuted(db, names)).map(({ name }) => {
    const source = sources[name]
    if (!source) throw new Error(`the database has the migration ${name} of another release: use that release`)
    return [name, source] as const
  })
  return Object.fromEntries(executed)
}

/** Makes the schema, with the empty tables of the migrations. */
export async function buildStage(
  trx: Kysely<unknown>,
  stage: Names,
  { sources, cluster }: Pick<Migrations, 'sources' | 'cluster'>,
): Promise<void> {
  await cluster?.keepOnCoordinator(trx)
  await sql`CREATE SCHEMA ${sql.id(stage.schema)}`.execute(trx)
  for (const source of Object.values(sources)) {
    const { up } = await source(stage)
    await up(trx)
  }
}

/** Drops the schema, even if a killed process left it behind. */
export async function dropStage(db: Kysely<unknown>, stage: Names): Promise<void> {
  await sql`DROP SCHEMA IF EXISTS ${sql.id(stage.schema)} CASCADE`.execute(db)
}
