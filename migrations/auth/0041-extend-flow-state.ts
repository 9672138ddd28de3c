import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// A sign-in at a provider comes back once: whoever takes the row for the answer marks it, so that no lock is held while
// the provider is asked. A flow that links an identity to an account belongs to the session that began it, and ends with
// it: who has been signed out must not be able to finish a way back in.
export const extendFlowState: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      ALTER TABLE ${names.id('flow_state')}
        ADD COLUMN claimed_at timestamptz,
        ADD COLUMN linking_session_id uuid,
        ADD CONSTRAINT ${names.local('flow_state_session_fkey')}
          FOREIGN KEY (linking_session_id) REFERENCES ${names.id('sessions')} (id) ON DELETE CASCADE`.execute(db)
    await sql`
      CREATE INDEX ${names.local('flow_state_session_idx')} ON ${names.id('flow_state')} (linking_session_id)
      WHERE linking_session_id IS NOT NULL`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`
      ALTER TABLE ${names.id('flow_state')} DROP COLUMN claimed_at, DROP COLUMN linking_session_id`.execute(db)
  },
})
