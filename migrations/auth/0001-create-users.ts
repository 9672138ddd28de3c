import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// One row a person. Email and phone are unique across audiences: two users never share one, and parallel signups are
// decided by these two indexes alone. The columns compare bytewise, so the unique index also serves prefix searches.
// A row with `staged_at` belongs to a one-time code that nobody has entered yet; no listing shows it.
export const createUsers: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('users')} (
        id uuid CONSTRAINT ${names.local('users_pkey')} PRIMARY KEY DEFAULT gen_random_uuid(),
        aud text NOT NULL,
        role text NOT NULL,
        email text COLLATE "C",
        phone text COLLATE "C",
        encrypted_password text,
        email_confirmed_at timestamptz,
        phone_confirmed_at timestamptz,
        confirmed_at timestamptz GENERATED ALWAYS AS (LEAST(email_confirmed_at, phone_confirmed_at)) STORED,
        invited_at timestamptz,
        confirmation_sent_at timestamptz,
        recovery_sent_at timestamptz,
        email_change text,
        email_change_sent_at timestamptz,
        email_change_confirm_status smallint NOT NULL DEFAULT 0,
        phone_change text,
        phone_change_sent_at timestamptz,
        reauthentication_sent_at timestamptz,
        last_sign_in_at timestamptz,
        raw_app_meta_data jsonb NOT NULL DEFAULT '{}',
        raw_user_meta_data jsonb NOT NULL DEFAULT '{}',
        banned_until timestamptz,
        deleted_at timestamptz,
        is_anonymous boolean NOT NULL DEFAULT false,
        is_sso_user boolean NOT NULL DEFAULT false,
        staged_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT ${names.local('users_email_key')} UNIQUE (email),
        CONSTRAINT ${names.local('users_phone_key')} UNIQUE (phone),
        CONSTRAINT ${names.local('users_email_change_status')} CHECK (email_change_confirm_status BETWEEN 0 AND 2)
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`CREATE INDEX ${names.local('users_created_at_idx')} ON ${names.id('users')} (created_at DESC, id)`.execute(
      db,
    )
    await sql`
      CREATE INDEX ${names.local('users_staged_at_idx')} ON ${names.id('users')} (staged_at)
      WHERE staged_at IS NOT NULL`.execute(db)
    await sql`
      CREATE INDEX ${names.local('users_anonymous_idx')} ON ${names.id('users')} (is_anonymous, created_at)
      WHERE is_anonymous`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('users')}`.execute(db)
  },
})
