// An operator can close the registration of apps immediately in all processes, whatever their settings allow. The database stores
// whether it is closed, and the function that creates an app for a client reads it there. The table always has one row. A
// registration locks the row, so closing waits for the registrations that have begun. (console reference: Routes of payments)
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createRegistration: MigrationSource = (names) => ({
  tables: { registration: 'local' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('registration')} (
        only_row boolean NOT NULL DEFAULT true,
        is_closed boolean NOT NULL DEFAULT false,
        CONSTRAINT ${names.local('registration_pk')} PRIMARY KEY (only_row),
        CONSTRAINT ${names.local('registration_only_ck')} CHECK (only_row)
      )`.execute(db)
    await sql`INSERT INTO ${names.id('registration')} DEFAULT VALUES`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('registration')}`.execute(db)
  },
})
