import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'
import { listExecuted } from './migrator.ts'
import { createNames } from './names.ts'

/** Where migrations are tried out: a schema of its own, which nobody uses, beside that of the service. */
export function rehearsalNames({ schema, prefix }: Names): Names {
  return createNames(`${prefix}${schema}_rehearsal`, prefix)
}

/** Text that speaks of the rehearsal's schema, as it would speak of the service's. */
export function translate(text: string, stage: Names, names: Names): string {
  return text.replaceAll(stage.schema, names.schema)
}

/** Makes the schema and in it, empty, what the migrations that have run made of the service's own, in their order. */
export async function buildStage(
  trx: Kysely<unknown>,
  stage: Names,
  { names, sources }: { readonly names: Names; readonly sources: MigrationSources },
): Promise<void> {
  await sql`CREATE SCHEMA ${sql.id(stage.schema)}`.execute(trx)
  for (const { name } of await listExecuted(trx, names)) {
    const source = sources[name]
    if (!source) throw new Error(`the database has the migration ${name} of another version: use that version`)
    const { up } = await source(stage)
    await up(trx)
  }
}

/** Removes the schema, also one that somebody who was killed left behind. */
export async function dropStage(db: Kysely<unknown>, stage: Names): Promise<void> {
  await sql`DROP SCHEMA IF EXISTS ${sql.id(stage.schema)} CASCADE`.execute(db)
}
