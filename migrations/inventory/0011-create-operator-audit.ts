// Changes by operators of a console (console reference: Audit of operators). Each change adds its row in its own transaction, and
// rows never change.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createOperatorAudit: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await sql`CREATE TABLE ${names.id('operator_audit')} (
      id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      action text NOT NULL,
      actor_id uuid NOT NULL,
      actor_email text NOT NULL,
      key_name text NOT NULL,
      role text NOT NULL,
      address text NOT NULL,
      object_kind text NOT NULL,
      object_id bigint NOT NULL,
      product_ids bigint[] NOT NULL,
      idempotency_key text,
      changes json NOT NULL,
      CONSTRAINT ${names.local('operator_audit_pkey')} PRIMARY KEY (id)
    )`.execute(db)
    await sql`CREATE INDEX ${names.local('operator_audit_products_idx')}
      ON ${names.id('operator_audit')} USING gin (product_ids)`.execute(db)
    await sql`
      CREATE TRIGGER ${names.local('operator_audit_append_only')} BEFORE UPDATE OR DELETE OR TRUNCATE
      ON ${names.id('operator_audit')} FOR EACH STATEMENT EXECUTE FUNCTION ${names.id('refuse_change')}()`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('operator_audit')}`.execute(db)
  },
})
