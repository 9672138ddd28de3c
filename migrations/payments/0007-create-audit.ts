// Why: who made a key or changed who looks after a merchant must be told from the database alone.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createAudit: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // No foreign key: the merchant is 24 zeros where no merchant is concerned.
    await sql`
      CREATE TABLE ${names.id('audit')} (
        merchant_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        identity_id text COLLATE "C",
        action text NOT NULL,
        payload jsonb NOT NULL,
        created timestamptz(3) NOT NULL,
        CONSTRAINT ${names.local('audit_pk')} PRIMARY KEY (merchant_id, id),
        CONSTRAINT ${names.local('audit_merchant_id_ck')} CHECK (merchant_id ~ '^[0-9a-f]{24}$'),
        CONSTRAINT ${names.local('audit_id_ck')} CHECK (id ~ '^[0-9a-f]{24}$')
      )`.execute(db)
    await sql`
      CREATE FUNCTION ${names.id('add_audit')}(
        p_merchant_id text, p_identity_id text, p_action text, p_payload jsonb
      ) RETURNS void LANGUAGE sql VOLATILE AS $$
        INSERT INTO ${names.id('audit')} (merchant_id, id, identity_id, action, payload, created)
        SELECT p_merchant_id, made.id, p_identity_id, p_action, p_payload, made.created
        FROM ${names.id('new_id')}(
          coalesce((SELECT m.tag FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id), '00000000')
        ) made
      $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP FUNCTION ${names.id('add_audit')}(text, text, text, jsonb)`.execute(db)
    await sql`DROP TABLE ${names.id('audit')}`.execute(db)
  },
})
