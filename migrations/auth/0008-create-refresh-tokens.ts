// The chain of refresh tokens of a session, by hash: the clear token is never stored. `counter` numbers the chain, and its
// unique index also finds the newest token of a session. No updated column is indexed, so updates stay in their page.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createRefreshTokens: MigrationSource = (names) => ({
  replaces: ['refresh_tokens'],
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('refresh_tokens')} (
        id bigserial CONSTRAINT ${names.local('refresh_tokens_pkey')} PRIMARY KEY,
        session_id uuid NOT NULL,
        user_id uuid NOT NULL,
        token_hash bytea NOT NULL,
        counter bigint NOT NULL,
        parent_id bigint,
        revoked boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT ${names.local('refresh_tokens_session_fkey')}
          FOREIGN KEY (session_id) REFERENCES ${names.id('sessions')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('refresh_tokens_hash_key')} UNIQUE (token_hash),
        CONSTRAINT ${names.local('refresh_tokens_counter_key')} UNIQUE (session_id, counter)
      ) WITH (fillfactor = 80)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('refresh_tokens')}`.execute(db)
  },
})
