// An operator closes the registration of apps at once, in every process, whatever their settings open. So the
// database says whether it is closed, and the function that makes an app for a client reads it there. There
// is one row from the beginning. A registration locks it, so closing the registration waits for the
// registrations that have begun. (console reference: Routes of payments)
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
