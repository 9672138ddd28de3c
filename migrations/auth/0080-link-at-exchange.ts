import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Where PKCE is required, an identity is linked when the code of its flow is exchanged: whoever has the verifier has begun the
// flow. The browser that comes back from the provider may be somebody else's, who was led there; their account would become a
// way into that of whoever led them. Until then it waits here.
export const linkAtExchange: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('flow_state')} ADD COLUMN linked_account jsonb`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`ALTER TABLE ${names.id('flow_state')} DROP COLUMN linked_account`.execute(db)
  },
})
