// Operators must be able to explain why a mail has not arrived. The queue is not enough: its jobs are encrypted, and finished
// jobs are deleted after a day. So each mail and SMS has a row here, written in the transaction that queues it. It contains no
// text, code or link, and only so much of the address that support can recognise it. The row remains without its user, like the
// audit log, until clean-up.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createMessages: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    const messages = names.id('messages')
    await sql`
      CREATE TABLE ${messages} (
        id uuid CONSTRAINT ${names.local('messages_pkey')} PRIMARY KEY,
        kind text NOT NULL,
        purpose text NOT NULL,
        channel text,
        user_id uuid NOT NULL,
        recipient text NOT NULL,
        status text NOT NULL DEFAULT 'waiting',
        attempts smallint NOT NULL DEFAULT 0,
        error text,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        sent_at timestamptz
      )`.execute(db)
    await sql`CREATE INDEX ${names.local('messages_created_idx')} ON ${messages} (created_at, id)`.execute(db)
    await sql`CREATE INDEX ${names.local('messages_user_idx')} ON ${messages} (user_id, created_at, id)`.execute(db)
    // Nearly all messages have the status `sent`. Operators look for the other messages.
    await sql`
      CREATE INDEX ${names.local('messages_unsent_idx')} ON ${messages} (status, created_at, id)
      WHERE status <> 'sent'`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('messages')}`.execute(db)
  },
})
