// Stock levels: what of a product is at a location now. A level is the sum of its movements, kept because a sum over the
// ledger would cost more with each of them. The checks are the last net under every function that changes one.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const createStockLevels = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
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
    await createLevelJson(db, names)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP FUNCTION ${names.id('level_json')}(${names.id('stock_levels')})`.execute(db)
    await sql`DROP FUNCTION ${names.id('rfc3339')}(timestamptz)`.execute(db)
    await sql`DROP TABLE ${names.id('stock_levels')}`.execute(db)
  },
})

/** The record of a level, which functions that change one answer with: an answer is kept for who repeats the request. */
async function createLevelJson(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('rfc3339')}(p_at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
      SELECT to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    $$`.execute(db)
  await sql`
    CREATE FUNCTION ${names.id('level_json')}(l ${names.id('stock_levels')}) RETURNS json LANGUAGE sql STABLE AS $$
      SELECT json_build_object(
        'productId', l.product_id, 'locationId', l.location_id,
        'onHand', l.on_hand, 'reserved', l.reserved, 'available', l.on_hand - l.reserved,
        'updatedAt', ${names.id('rfc3339')}(l.updated_at)
      )
    $$`.execute(db)
}
