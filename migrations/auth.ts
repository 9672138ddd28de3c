import type { MigrationSources } from './migration.ts'

/** The migrations of the auth service, in the order in which they run. */
export const authMigrations: MigrationSources = {}
