// Reservations: stock kept for a customer and still on hand. `remaining` is the part of a reservation that is still reserved, so
// the reserved quantity of a level is the sum over its reservations.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createReservations: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    // Every reservation ends with an update. Free space in the page keeps the new row version next to the old one.
    await sql`CREATE TABLE ${names.id('reservations')} (
      id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
      product_id bigint NOT NULL,
      location_id bigint NOT NULL,
      quantity bigint NOT NULL,
      remaining bigint NOT NULL,
      status text NOT NULL DEFAULT 'active',
      reference varchar(255),
      expires_at timestamptz,
      created_at timestamptz NOT NULL,
      CONSTRAINT ${names.local('reservations_pkey')} PRIMARY KEY (id),
      CONSTRAINT ${names.local('reservations_level_fkey')}
        FOREIGN KEY (product_id, location_id) REFERENCES ${names.id('stock_levels')} (product_id, location_id),
      CONSTRAINT ${names.local('reservations_quantity_check')} CHECK (quantity BETWEEN 1 AND 1000000000000),
      CONSTRAINT ${names.local('reservations_remaining_check')} CHECK (remaining BETWEEN 0 AND quantity),
      CONSTRAINT ${names.local('reservations_status_check')} CHECK (
        status IN ('active', 'committed', 'released', 'expired') AND (status = 'active') = (remaining > 0)
      )
    ) WITH (fillfactor = 80)`.execute(db)
    await createIndexes(db, names)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('reservations')}`.execute(db)
  },
})

/** One index finds due reservations. The others serve the filters of the list, ordered by id. */
async function createIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  const indexes = [
    sql`${names.local('reservations_due_idx')} ON ${names.id('reservations')} (expires_at) WHERE status = 'active'`,
    sql`${names.local('reservations_status_idx')} ON ${names.id('reservations')} (status, id)`,
    sql`${names.local('reservations_level_idx')} ON ${names.id('reservations')} (product_id, location_id, id)`,
    sql`${names.local('reservations_product_idx')} ON ${names.id('reservations')} (product_id, id)`,
    sql`${names.local('reservations_location_idx')} ON ${names.id('reservations')} (location_id, id)`,
    sql`${names.local('reservations_reference_idx')} ON ${names.id('reservations')} (reference, id)
      WHERE reference IS NOT NULL`,
  ]
  for (const index of indexes) await sql`CREATE INDEX ${index}`.execute(db)
}
