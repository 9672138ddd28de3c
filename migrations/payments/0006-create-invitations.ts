// A user is invited by email and becomes a member by accepting. Only the digest of the mail's token is stored, so a reader of the
// database cannot accept. An invitation ends with its membership.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createInvitations: MigrationSource = (names) => ({
  tables: { invitations: 'reference' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('invitations')} (
        token_hash bytea NOT NULL,
        merchant_id text COLLATE "C" NOT NULL,
        user_id text COLLATE "C" NOT NULL,
        created timestamptz(3) NOT NULL,
        expires timestamptz(3) NOT NULL,
        used timestamptz(3),
        CONSTRAINT ${names.local('invitations_pk')} PRIMARY KEY (token_hash),
        CONSTRAINT ${names.local('invitations_token_hash_ck')} CHECK (octet_length(token_hash) = 32),
        CONSTRAINT ${names.local('invitations_member_fk')} FOREIGN KEY (merchant_id, user_id)
          REFERENCES ${names.id('merchant_users')} (merchant_id, user_id) ON DELETE CASCADE
      )`.execute(db)
    await sql`
      CREATE INDEX ${names.local('invitations_member_ix')} ON ${names.id('invitations')} (merchant_id, user_id)
    `.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('invitations')}`.execute(db)
  },
})
