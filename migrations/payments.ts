import type { MigrationSources } from './migration.ts'

/** The migrations of the payments service, in the order in which they run. */
export const paymentsMigrations: MigrationSources = {}
