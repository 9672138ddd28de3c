import { authMigrations } from '@trestle/migrations/auth.ts'
import type { MigrationSources, Names, ServiceMigration } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'

const REFRESH_TOKENS = '0008-create-refresh-tokens'
/**
 * The tables of these migrations are filled before the switch, or wait for changes that the old service would
 * notice. It refuses every refresh once `sessions` has a column that it does not know.
 */
const LATE_IN_PLACE = ['0006-create-identities', '0007-create-sessions']

/**
 * The migrations as they run where supabase/auth has made some of the tables.
 * @param staging where the table of refresh tokens was filled; undefined: the migration makes an empty one
 */
export function migrationsInPlace(staging?: string): MigrationSources {
  return Object.fromEntries(
    Object.entries(authMigrations).map(([name, source]) => [
      name,
      async (names: Names) => {
        const migration = await source(names)
        const { inPlace = migration } = migration
        if (name !== REFRESH_TOKENS || staging === undefined) return { ...migration, ...inPlace }
        return { ...migration, up: (db: Kysely<unknown>) => moveTable(db, [staging, names.schema], 'refresh_tokens') }
      },
    ]),
  )
}

/** The migrations that run while the old service serves: they need no name that it has. */
export async function listEarlyMigrations(names: Names): Promise<MigrationSources> {
  const early: [string, MigrationSources[string]][] = []
  for (const [name, source] of Object.entries(migrationsInPlace())) {
    if (!LATE_IN_PLACE.includes(name) && replacedBy(await source(names)).length === 0) early.push([name, source])
  }
  return Object.fromEntries(early)
}

/** The tables of supabase/auth whose names this service needs. */
export async function listReplaced(names: Names): Promise<readonly string[]> {
  const sources = await Promise.all(Object.values(authMigrations).map((source) => source(names)))
  return sources.flatMap(replacedBy)
}

function replacedBy({ replaces = [] }: ServiceMigration): readonly string[] {
  return replaces
}

/** Moves a table. The indexes, constraints, policies and grants of the table, and the sequence of its key, move with it. */
export async function moveTable(
  trx: Kysely<unknown>,
  [from, to]: readonly [from: string, to: string],
  table: string,
): Promise<void> {
  await sql`ALTER TABLE ${sql.id(from, table)} SET SCHEMA ${sql.id(to)}`.execute(trx)
}
