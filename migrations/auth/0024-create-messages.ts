// Operators are asked why a mail has not come. The queue cannot tell: its jobs are sealed, and finished jobs are deleted after a
// day. So each mail and SMS has a row here, written in the transaction that queues it. It holds neither text, code nor link, and
// of the address only what support needs to recognise it. The row outlives its user, as the audit log does, until it is cleaned
// up.
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
    // Nearly all messages are sent. Operators look for the other messages.
    await sql`
      CREATE INDEX ${names.local('messages_unsent_idx')} ON ${messages} (status, created_at, id)
      WHERE status <> 'sent'`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('messages')}`.execute(db)
  },
})
