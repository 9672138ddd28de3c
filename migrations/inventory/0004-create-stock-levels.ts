// Stock levels: the quantity of a product at a location. A level is the sum of its movements. It is stored, because summing the
// ledger would slow down with every movement. The checks protect against errors in functions that change levels.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createStockLevels: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // Levels change often. With free space in each page, PostgreSQL can update a row without a new index entry.
    await sql`CREATE TABLE ${names.id('stock_levels')} (
      product_id bigint NOT NULL,
      location_id bigint NOT NULL,
      on_hand bigint NOT NULL DEFAULT 0,
      reserved bigint NOT NULL DEFAULT 0,
      updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      CONSTRAINT ${names.local('stock_levels_pkey')} PRIMARY KEY (product_id, location_id),
      CONSTRAINT ${names.local('stock_levels_product_fkey')}
        FOREIGN KEY (product_id) REFERENCES ${names.id('products')} (id),
      CONSTRAINT ${names.local('stock_levels_location_fkey')}
        FOREIGN KEY (location_id) REFERENCES ${names.id('locations')} (id),
      CONSTRAINT ${names.local('stock_levels_on_hand_check')} CHECK (on_hand BETWEEN 0 AND 1000000000000),
      CONSTRAINT ${names.local('stock_levels_reserved_check')} CHECK (reserved BETWEEN 0 AND on_hand)
    ) WITH (fillfactor = 80)`.execute(db)
    await sql`CREATE INDEX ${names.local('stock_levels_location_idx')}
      ON ${names.id('stock_levels')} (location_id, product_id)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('stock_levels')}`.execute(db)
  },
})
