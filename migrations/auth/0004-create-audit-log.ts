import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

// What happened to whom. Rows outlive the users and sessions they name, so nothing here is a foreign key.
export const createAuditLog: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('audit_log_entries')} (
        id uuid CONSTRAINT ${names.local('audit_log_entries_pkey')} PRIMARY KEY DEFAULT ${names.id('uuid_v7')}(),
        actor_id uuid,
        target_user_id uuid,
        session_id uuid,
        action text NOT NULL,
        log_type text NOT NULL,
        ip_address text NOT NULL DEFAULT '',
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        payload jsonb NOT NULL
      )`.execute(db)
    await sql`
      CREATE INDEX ${names.local('audit_log_created_at_idx')} ON ${names.id('audit_log_entries')} (created_at DESC)`.execute(
      db,
    )
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('audit_log_entries')}`.execute(db)
  },
})
