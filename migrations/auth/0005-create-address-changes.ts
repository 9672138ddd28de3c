// When users changed to their present email or phone. The thief of a session can add an address and sign in by it, and the new
// session looks fresh. So a new password accepts only proofs by credentials that are old enough. This is a separate table because
// many statements read `users`.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createAddressChanges: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('address_changes')} (
        user_id uuid NOT NULL,
        kind text NOT NULL,
        changed_at timestamptz NOT NULL,
        CONSTRAINT ${names.local('address_changes_pkey')} PRIMARY KEY (user_id, kind),
        CONSTRAINT ${names.local('address_changes_user_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('address_changes_kind_check')} CHECK (kind IN ('email', 'phone'))
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('address_changes')}`.execute(db)
  },
})
