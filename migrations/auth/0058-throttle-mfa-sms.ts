import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// Codes for a phone that is a second factor have an interval of their own (MFA_PHONE_MAX_FREQUENCY), by phone: enrolling the
// phone anew must not begin it anew.
export const throttleMfaSms: MigrationSource = (names) => {
  const allow = async (db: Kysely<unknown>, kinds: readonly string[]) => {
    await sql`ALTER TABLE ${names.id('send_throttle')} DROP CONSTRAINT ${names.local('send_throttle_kind')}`.execute(db)
    await sql`
      ALTER TABLE ${names.id('send_throttle')} ADD CONSTRAINT ${names.local('send_throttle_kind')}
        CHECK (kind IN (${sql.join(kinds.map((kind) => sql.lit(kind)))}))`.execute(db)
  }
  const before = ['confirmation', 'recovery', 'email_change', 'reauthentication', 'sms']
  return {
    up: (db: Kysely<unknown>) => allow(db, [...before, 'mfa_sms']),
    async down(db: Kysely<unknown>) {
      await sql`DELETE FROM ${names.id('send_throttle')} WHERE kind = 'mfa_sms'`.execute(db)
      await allow(db, before)
    },
  }
}
