import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Whoever has stolen a session can add a credential of their own (an email, a phone, an identity, a passkey, a factor) and sign
// in by it: the new session looks fresh. So each proof of a session notes since when its credential belongs to the account, and
// what a new password rests on counts only proofs by credentials that are old enough. NULL: since the account was made, or
// since before this migration.
export const dateCredentials: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('mfa_amr_claims')} ADD COLUMN credential_since timestamptz`.execute(db)
    await sql`ALTER TABLE ${names.id('flow_state')} ADD COLUMN credential_since timestamptz`.execute(db)
    // When a user gave themselves the email or phone that they have now. A table of its own: users have many readers.
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
    await sql`ALTER TABLE ${names.id('flow_state')} DROP COLUMN credential_since`.execute(db)
    await sql`ALTER TABLE ${names.id('mfa_amr_claims')} DROP COLUMN credential_since`.execute(db)
  },
})
