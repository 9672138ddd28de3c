import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Why: a connection keeps the plans of its functions. One that was made while a table was small reads the whole table, until
// the statistics are next gathered. What finds rows by key never does, whatever the table's size was that day.
const BY_KEY = [
  'claim_key',
  'create_app',
  'create_merchant',
  'update_merchant',
  'create_key',
  'revoke_key',
  'add_app',
  'revoke_app',
  'invite_user',
  'revoke_user',
  'accept_invitation',
  'create_webhook',
  'rotate_webhook_secret',
  'delete_webhook',
  'disable_webhook',
  'replay_webhook',
  'charge_begin',
  'record_authorization',
  'charge_finish',
  'create_card',
  'dispute_open',
  'dispute_close',
  'fraud_add',
  'payout',
  'payout_close',
  'adjust',
]

export const keepPlans: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    for (const name of BY_KEY) {
      await sql`ALTER FUNCTION ${names.id(name)} SET plan_cache_mode = 'force_generic_plan'`.execute(db)
      await sql`ALTER FUNCTION ${names.id(name)} SET enable_seqscan = 'off'`.execute(db)
    }
  },
  async down(db: Kysely<unknown>) {
    for (const name of BY_KEY) await sql`ALTER FUNCTION ${names.id(name)} RESET ALL`.execute(db)
  },
})
