// The database alone must tell who made a key, changed who looks after a merchant, or did an operator's work.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createAudit: MigrationSource = (names) => ({
  tables: { audit: 'owned' },
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
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('audit')}`.execute(db)
  },
})
