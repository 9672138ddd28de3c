// An operator has a daily refund quota. The daily sum is one row, which every refund updates before it moves money. Parallel
// refunds wait for each other, so their total stays within the quota. `allowance_uses` stores the amount that each refund has
// taken from the quota. An idempotent request takes nothing again, and a rejected refund gives back exactly this amount.
// (console reference: Refund quota)
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createAllowances: MigrationSource = (names) => ({
  tables: { operator_allowances: 'local', allowance_uses: 'local' },
  async up(db: Kysely<unknown>) {
    await sql`
      CREATE TABLE ${names.id('operator_allowances')} (
        actor_id text COLLATE "C" NOT NULL,
        currency text COLLATE "C" NOT NULL,
        day date NOT NULL,
        taken bigint NOT NULL,
        CONSTRAINT ${names.local('operator_allowances_pk')} PRIMARY KEY (actor_id, currency, day),
        CONSTRAINT ${names.local('operator_allowances_taken_ck')} CHECK (taken >= 0)
      )`.execute(db)
    await createUses(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('operator_allowances')}, ${names.id('allowance_uses')}`.execute(db)
  },
})

async function createUses(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('allowance_uses')} (
      actor_id text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      currency text COLLATE "C" NOT NULL,
      day date NOT NULL,
      amount bigint NOT NULL,
      used boolean NOT NULL DEFAULT false,
      created timestamptz(3) NOT NULL,
      CONSTRAINT ${names.local('allowance_uses_pk')} PRIMARY KEY (actor_id, key),
      CONSTRAINT ${names.local('allowance_uses_amount_ck')} CHECK (amount > 0)
    )`.execute(db)
  await sql`COMMENT ON COLUMN ${names.id('allowance_uses')}.used IS 'whether the refund was made'`.execute(db)
  await sql`
    CREATE INDEX ${names.local('allowance_uses_created_ix')} ON ${names.id('allowance_uses')} (created)`.execute(db)
}
