import type { Names } from '@trestle/migrations/migration.ts'

/** The end of the names of all tables of migrations, whatever the prefix before it. */
export const MIGRATIONS = 'trestle_migrations'

/** The migrator's own tables: they are no part of the service's schema as its migrations make it. */
export const migratorTables = [MIGRATIONS, `${MIGRATIONS}_lock`, 'trestle_functions'] as const

/** The name of one of the migrator's tables, with the prefix of DB_NAMESPACE. */
export function migratorTable({ prefix }: Pick<Names, 'prefix'>, table: (typeof migratorTables)[number]): string {
  return prefix + table
}
