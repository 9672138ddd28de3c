// One row per sign-in. Refresh tokens and authentication methods belong to a session, so deleting its row ends it. All code takes
// locks in one order: the row of the user, then of the session, then of its tokens.
//
// The first part equals the table of supabase/auth, column by column; see the table of users. `refreshed_at` has no time zone and
// is in UTC. `oauth_client_id` refers to no table, because this service has no table of clients.
//
// The second part is the service's own: the address of the last refresh, and the user's name for the session.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createSessions: MigrationSource = (names) => ({
  adds: { sessions: ['last_ip inet', 'label text'] },
  async up(db: Kysely<unknown>) {
    await sql`CREATE TYPE ${names.id('aal_level')} AS ENUM ('aal1', 'aal2', 'aal3')`.execute(db)
    await sql`
      CREATE TABLE ${names.id('sessions')} (
        id uuid NOT NULL CONSTRAINT ${names.local('sessions_pkey')} PRIMARY KEY,
        user_id uuid NOT NULL,
        created_at timestamptz,
        updated_at timestamptz,
        factor_id uuid,
        aal ${names.id('aal_level')},
        not_after timestamptz,
        refreshed_at timestamp,
        user_agent text,
        ip inet,
        tag text,
        oauth_client_id uuid,
        refresh_token_hmac_key text,
        refresh_token_counter bigint,
        scopes text,
        last_ip inet,
        label text,
        CONSTRAINT ${names.local('sessions_user_id_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('sessions_scopes_length')} CHECK (char_length(scopes) <= 4096)
      ) WITH (fillfactor = 80)`.execute(db)
    await createIndexes(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('sessions')}`.execute(db)
    await sql`DROP TYPE ${names.id('aal_level')}`.execute(db)
  },
  inPlace: {
    async up(db: Kysely<unknown>) {
      await sql`ALTER TABLE ${names.id('sessions')} ADD COLUMN last_ip inet, ADD COLUMN label text`.execute(db)
    },
    async down(db: Kysely<unknown>) {
      await sql`ALTER TABLE ${names.id('sessions')} DROP COLUMN last_ip, DROP COLUMN label`.execute(db)
    },
  },
})

/** Refreshes change no indexed column, so updated rows stay in their page. */
async function createIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  const sessions = names.id('sessions')
  await sql`CREATE INDEX ${names.local('sessions_user_id_idx')} ON ${sessions} (user_id)`.execute(db)
  await sql`CREATE INDEX ${names.local('user_id_created_at_idx')} ON ${sessions} (user_id, created_at)`.execute(db)
  await sql`CREATE INDEX ${names.local('sessions_not_after_idx')} ON ${sessions} (not_after DESC)`.execute(db)
  await sql`CREATE INDEX ${names.local('sessions_oauth_client_id_idx')} ON ${sessions} (oauth_client_id)`.execute(db)
}
