// The chain of refresh tokens of a session, by hash. Tokens are never stored in clear. `counter` numbers the chain, and its
// unique index also finds the newest token of a session. No updated column is indexed, so updates stay in their page.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createRefreshTokens: MigrationSource = (names) => {
  const key = sql`
    CONSTRAINT ${names.local('refresh_tokens_session_fkey')}
      FOREIGN KEY (session_id) REFERENCES ${names.id('sessions')} (id) ON DELETE CASCADE,`
  const down = async (db: Kysely<unknown>) => {
    await sql`DROP TABLE ${names.id('refresh_tokens')}`.execute(db)
  }
  return {
    replaces: ['refresh_tokens'],
    up: (db: Kysely<unknown>) => createTable(db, names, key),
    down,
    // The foreign key would lock sessions while `auth adopt` copies their tokens, so the switch creates it.
    inPlace: { up: (db: Kysely<unknown>) => createTable(db, names, sql``), down },
  }
}

async function createTable(db: Kysely<unknown>, names: Names, key: RawBuilder<unknown>): Promise<void> {
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
      updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),${key}
      CONSTRAINT ${names.local('refresh_tokens_hash_key')} UNIQUE (token_hash),
      CONSTRAINT ${names.local('refresh_tokens_counter_key')} UNIQUE (session_id, counter)
    ) WITH (fillfactor = 80)`.execute(db)
}
