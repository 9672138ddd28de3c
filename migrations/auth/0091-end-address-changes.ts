import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'
import { logOutLiveSessions } from './0086-log-out-live-sessions.ts'
import { replaceLogOut } from './log-out.ts'

// A change of email or phone that a thief has asked for waited until its code was entered, though its session had ended. Now a
// log-out from everywhere ends it too; all else of the function is as it was. And anybody can have the messages of a change sent
// again, so `..._asked_at` says when somebody who was signed in asked for it: an old change is not sent any more.
export const endAddressChanges: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    const users = names.id('users')
    await sql`
      ALTER TABLE ${users} ADD COLUMN email_change_asked_at timestamptz, ADD COLUMN phone_change_asked_at timestamptz`.execute(
      db,
    )
    await sql`
      UPDATE ${users} u SET email_change_asked_at = u.email_change_sent_at, phone_change_asked_at = u.phone_change_sent_at
      WHERE u.email_change IS NOT NULL OR u.phone_change IS NOT NULL`.execute(db)
    await replaceLogOut(names, sql``).execute(db)
  },
  async down(db: Kysely<unknown>) {
    await logOutLiveSessions(names).up(db)
    await sql`
      ALTER TABLE ${names.id('users')} DROP COLUMN email_change_asked_at, DROP COLUMN phone_change_asked_at`.execute(db)
  },
})
