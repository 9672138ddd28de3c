// A merchant has one row that every posting changes: the balance, the last id, and the ends of both hash chains. Only the
// transaction that holds this row's lock writes rows of the merchant. So ids become visible in rising order, and each link of a
// chain is written after the previous link.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

const comments = {
  clock_offset: 'seconds that the test clock runs ahead',
  expired_id: 'transactions up to it have nothing pending',
}

export const createBalances: MigrationSource = (names) => ({
  tables: { merchant_balances: 'owned' },
  async up(db: Kysely<unknown>) {
    // The pending amount of a transaction only decreases, so the expiry of authorizations checks each once. `expired_id` is where
    // it continues.
    await sql`
      CREATE TABLE ${names.id('merchant_balances')} (
        merchant_id text COLLATE "C" NOT NULL,
        currency text NOT NULL,
        balance bigint NOT NULL DEFAULT 0,
        last_id text COLLATE "C" NOT NULL,
        line_count bigint NOT NULL DEFAULT 0,
        chain_head bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
        chain_length bigint NOT NULL DEFAULT 0,
        state_head bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
        state_length bigint NOT NULL DEFAULT 0,
        clock_offset bigint NOT NULL DEFAULT 0,
        expired_id text COLLATE "C" NOT NULL DEFAULT '',
        CONSTRAINT ${names.local('merchant_balances_pk')} PRIMARY KEY (merchant_id),
        CONSTRAINT ${names.local('balances_merchant_fk')} FOREIGN KEY (merchant_id)
          REFERENCES ${names.id('merchants')} (id),
        CONSTRAINT ${names.local('balances_last_id_ck')} CHECK (last_id ~ '^[0-9a-f]{24}$'),
        CONSTRAINT ${names.local('balances_line_count_ck')} CHECK (line_count >= 0),
        CONSTRAINT ${names.local('balances_chain_head_ck')} CHECK (octet_length(chain_head) = 32),
        CONSTRAINT ${names.local('balances_chain_length_ck')} CHECK (chain_length >= 0),
        CONSTRAINT ${names.local('balances_state_head_ck')} CHECK (octet_length(state_head) = 32),
        CONSTRAINT ${names.local('balances_state_length_ck')} CHECK (state_length >= 0),
        CONSTRAINT ${names.local('balances_clock_offset_ck')} CHECK (clock_offset >= 0)
      ) WITH (fillfactor = 80)`.execute(db)
    for (const [column, text] of Object.entries(comments)) {
      await sql`
        COMMENT ON COLUMN ${names.id('merchant_balances')}.${sql.id(column)} IS ${sql.lit(text)}`.execute(db)
    }
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('merchant_balances')}`.execute(db)
  },
})
