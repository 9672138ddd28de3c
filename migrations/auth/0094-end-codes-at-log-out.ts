import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { replaceLogOut } from './log-out.ts'

// A link that was followed leaves an auth code, whose exchange opens a session. It outlived a log-out of all sessions, or of all
// others. Now such a log-out ends the codes that wait too; all else of the function is as it was.
export const endCodesAtLogOut: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    const codes = sql`IF p_session_id IS NULL OR p_scope <> 'local' THEN
        DELETE FROM ${names.id('flow_state')} f WHERE f.user_id = p_user_id AND f.auth_code_hash IS NOT NULL;
      END IF;`
    await replaceLogOut(names, codes).execute(db)
  },
  async down(db: Kysely<unknown>) {
    await replaceLogOut(names, sql``).execute(db)
  },
})
