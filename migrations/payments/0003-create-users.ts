// A user who manages merchants is identified by an email address, ignoring the case of the letters A to Z. The collation C does
// not change other letters: the Kelvin sign is not a K to a mail server, so an address with it is another mailbox.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createUsers: MigrationSource = (names) => ({
  tables: { users: 'reference' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('users')} (
        id text COLLATE "C" NOT NULL,
        email text NOT NULL,
        name text,
        created timestamptz(3) NOT NULL,
        CONSTRAINT ${names.local('users_pk')} PRIMARY KEY (id),
        CONSTRAINT ${names.local('users_id_ck')} CHECK (id ~ '^[0-9a-f]{24}$')
      )`.execute(db)
    await sql`
      CREATE UNIQUE INDEX ${names.local('users_email_uq')} ON ${names.id('users')}
        (lower(email COLLATE "C"))`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('users')}`.execute(db)
  },
})
