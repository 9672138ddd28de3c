// The challenges of second factors, each with the address of its request. The service increments `guesses` before it compares a
// code, so that parallel attempts share one limit. The hash of a code by SMS is keyed, and salted with the id of the row. A
// challenge ends with the session that requested it.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createMfaChallenges: MigrationSource = (names) => ({
  replaces: ['mfa_challenges'],
  async up(db: Kysely<unknown>) {
    const challenges = names.id('mfa_challenges')
    await sql`
      CREATE TABLE ${challenges} (
        id uuid CONSTRAINT ${names.local('mfa_challenges_pkey')} PRIMARY KEY,
        factor_id uuid NOT NULL,
        session_id uuid,
        ip inet,
        otp_hash bytea,
        guesses integer NOT NULL DEFAULT 0,
        verified_at timestamptz,
        web_authn_session_data jsonb,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        CONSTRAINT ${names.local('mfa_challenges_factor_fkey')}
          FOREIGN KEY (factor_id) REFERENCES ${names.id('mfa_factors')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('mfa_challenges_session_fkey')}
          FOREIGN KEY (session_id) REFERENCES ${names.id('sessions')} (id) ON DELETE CASCADE
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`CREATE INDEX ${names.local('mfa_challenges_factor_idx')} ON ${challenges} (factor_id)`.execute(db)
    await sql`
      CREATE INDEX ${names.local('mfa_challenges_session_idx')} ON ${challenges} (session_id)
      WHERE session_id IS NOT NULL`.execute(db)
    await sql`CREATE INDEX ${names.local('mfa_challenges_created_idx')} ON ${challenges} (created_at)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('mfa_challenges')}`.execute(db)
  },
})
