import type { Names } from '@trestle/migrations/migration.ts'

/** How the names of all tables of migrations end, whatever their prefix. */
export const MIGRATIONS = 'trestle_migrations'

/** The migrator's own tables. They do not belong to the schema that the migrations make. */
export const migratorTables = [MIGRATIONS, `${MIGRATIONS}_lock`, 'trestle_functions', 'trestle_distribution'] as const

/** The name of one of the migrator's tables, with the prefix of DB_NAMESPACE. */
export function migratorTable({ prefix }: Pick<Names, 'prefix'>, table: (typeof migratorTables)[number]): string {
  return prefix + table
}
