import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// One row per sign-in. Refresh tokens and authentication methods belong to a session, so deleting its row ends it. All code
// takes locks in one order: the row of the user, then of the session, then of its tokens.
export const createSessions: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('sessions')} (
        id uuid CONSTRAINT ${names.local('sessions_pkey')} PRIMARY KEY DEFAULT ${names.id('uuid_v7')}(),
        user_id uuid NOT NULL,
        aal text NOT NULL DEFAULT 'aal1',
        factor_id uuid,
        not_after timestamptz,
        refreshed_at timestamptz,
        user_agent text,
        ip inet,
        last_ip inet,
        label text,
        tag text,
        oauth_client_id uuid,
        scopes text,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT ${names.local('sessions_user_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('sessions_aal')} CHECK (aal IN ('aal1', 'aal2'))
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`
      CREATE INDEX ${names.local('sessions_user_id_idx')} ON ${names.id('sessions')} (user_id, created_at)`.execute(db)
    await sql`CREATE INDEX ${names.local('sessions_not_after_idx')} ON ${names.id('sessions')} (not_after)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('sessions')}`.execute(db)
  },
})
