// The database must show who created a key, changed a membership, or did an operator's work.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createAudit: MigrationSource = (names) => ({
  tables: { audit: 'owned' },
  async up(db: Kysely<unknown>) {
    // No foreign key: the id is 24 zeros if no merchant is concerned.
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
    // Operators read the entries of all merchants by time, by actor or by action. An operator has an identity only in auth.
    const actor = sql`(coalesce(identity_id, payload #>> '{actor,id}') COLLATE "C")`
    for (const [suffix, columns] of [
      ['list', sql`id`],
      ['actor', sql`${actor}, id`],
      ['action', sql`action, id`],
    ] as const) {
      await sql`
        CREATE INDEX ${names.local(`audit_${suffix}_ix`)} ON ${names.id('audit')} (${columns}, merchant_id)`.execute(db)
    }
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('audit')}`.execute(db)
  },
})
