import { describeCuts } from '@trestle/testing/migration-cuts.ts'
import { migrateOptions } from '../src/migrations.ts'

describeCuts({
  cuts: process.env.MIGRATE_CUTS,
  optionsOf: (url) =>
    migrateOptions({
      migrationDatabaseUrl: url,
      databaseUrl: url,
      databaseNamespace: '',
      databaseRole: 'inventory_service',
    }),
})
