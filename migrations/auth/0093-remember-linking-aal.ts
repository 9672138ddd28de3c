import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// A flow that links an identity comes back without the token that began it. `linking_aal` is what that token had shown: `aal1`
// must not change the address of who has a second factor, whatever their session shows by then. NULL counts as `aal1`.
export const rememberLinkingAal: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('flow_state')} ADD COLUMN linking_aal text`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('flow_state')} DROP COLUMN linking_aal`.execute(db)
  },
})
