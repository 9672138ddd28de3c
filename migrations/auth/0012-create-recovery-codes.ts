// Codes for users who have lost every other second factor. A user has one set of codes. To clients a set is a factor of type
// `recovery_code`, but the type of `mfa_factors` is an enum shared with supabase/auth. So sets have a separate table, and the
// view `user_factors` joins both tables for lists of factors.
//
// `codes_at` is when the codes were created. New codes replace the codes of the set, but its row stays.
//
// `guesses` and `failing_since` count attempts at the codes of a set within a window. The service counts an attempt before it
// compares the code, so that parallel processes cannot exceed the limit.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createRecoveryCodes: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createTables(db, names)
    await createView(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP VIEW ${names.id('user_factors')}`.execute(db)
    await sql`DROP TABLE ${names.id('mfa_recovery_codes')}`.execute(db)
    await sql`DROP TABLE ${names.id('mfa_recovery_sets')}`.execute(db)
  },
})

async function createTables(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('mfa_recovery_sets')} (
      id uuid CONSTRAINT ${names.local('mfa_recovery_sets_pkey')} PRIMARY KEY,
      user_id uuid NOT NULL,
      friendly_name text NOT NULL,
      guesses integer NOT NULL DEFAULT 0,
      failing_since timestamptz,
      codes_at timestamptz NOT NULL,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      CONSTRAINT ${names.local('mfa_recovery_sets_user_fkey')}
        FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
      CONSTRAINT ${names.local('mfa_recovery_sets_user_key')} UNIQUE (user_id)
    ) WITH (fillfactor = 80)`.execute(db)
  await sql`
    CREATE TABLE ${names.id('mfa_recovery_codes')} (
      id uuid CONSTRAINT ${names.local('mfa_recovery_codes_pkey')} PRIMARY KEY DEFAULT ${names.id('uuid_v7')}(),
      set_id uuid NOT NULL,
      code_hash bytea NOT NULL,
      used_at timestamptz,
      CONSTRAINT ${names.local('mfa_recovery_codes_set_fkey')}
        FOREIGN KEY (set_id) REFERENCES ${names.id('mfa_recovery_sets')} (id) ON DELETE CASCADE,
      CONSTRAINT ${names.local('mfa_recovery_codes_hash_key')} UNIQUE (set_id, code_hash)
    ) WITH (fillfactor = 80)`.execute(db)
}

/**
 * The view of each user's factors as clients see them. Recovery codes need no verification, because they are shown once. The view
 * has the rights of the reader. With the rights of its owner, it would show rows that row-level security hides.
 */
async function createView(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE VIEW ${names.id('user_factors')} WITH (security_invoker = true) AS
      SELECT f.user_id, f.id, f.friendly_name, f.factor_type::text AS factor_type, f.status::text AS status, f.phone,
          f.last_challenged_at, f.created_at, f.updated_at
        FROM ${names.id('mfa_factors')} f
      UNION ALL
      SELECT r.user_id, r.id, r.friendly_name, 'recovery_code', 'verified', NULL, NULL, r.created_at, r.updated_at
        FROM ${names.id('mfa_recovery_sets')} r`.execute(db)
}
