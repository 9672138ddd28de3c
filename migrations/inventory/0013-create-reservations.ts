// Reservations: stock that is promised to somebody and still on hand. `remaining` is what of it is reserved now, so what is
// reserved of a level is the sum of its reservations.
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const createReservations = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
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
    await sql`
      CREATE FUNCTION ${names.id('reservation_json')}(r ${names.id('reservations')}) RETURNS json
      LANGUAGE sql STABLE AS $$
        SELECT json_build_object(
          'id', r.id, 'productId', r.product_id, 'locationId', r.location_id,
          'quantity', r.quantity, 'remaining', r.remaining, 'status', r.status, 'reference', r.reference,
          'expiresAt', ${names.id('rfc3339')}(r.expires_at), 'createdAt', ${names.id('rfc3339')}(r.created_at)
        )
      $$`.execute(db)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP FUNCTION ${names.id('reservation_json')}(${names.id('reservations')})`.execute(db)
    await sql`DROP TABLE ${names.id('reservations')}`.execute(db)
  },
})

/** What is due, and the filters of the list in the order of ids. */
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
