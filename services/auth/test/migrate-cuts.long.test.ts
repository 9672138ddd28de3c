import { describeCuts } from '@trestle/testing/migration-cuts.ts'
import { migrateOptions } from '../src/migrations.ts'

describeCuts({
  cuts: process.env.MIGRATE_CUTS,
  optionsOf: (url) =>
    migrateOptions({ database: { migrationUrl: url, url, schema: 'auth', namespace: '', role: 'auth_service' } }),
})
