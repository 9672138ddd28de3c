// Movements: the ledger of stock. Every change of a level is a row that never changes, and the level is their sum. Only the
// function `apply_movement` writes rows, with the level locked, so within a level ids and times rise together. Rows have no
// foreign keys: the locked level has them, and each would cost every movement a look-up.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

export const createMovements: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createTable(db, names)
    await createIndexes(db, names)
    await refuseChanges(db, names)
    // A line of a request. `on_hand_delta` changes on_hand, `counted` replaces it; one of the two is NULL. If `to_location_id` is
    // set, the stock moves to that location. `expected_on_hand` is the required stock on hand before the change.
    await sql`
      CREATE TYPE ${names.id('stock_line')} AS (
        type text, product_id bigint, location_id bigint, to_location_id bigint,
        on_hand_delta bigint, counted bigint, expected_on_hand bigint, reason text, reference text
      )`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TYPE ${names.id('stock_line')}`.execute(db)
    await sql`DROP TABLE ${names.id('movements')}`.execute(db)
    await sql`DROP FUNCTION ${names.id('refuse_change')}()`.execute(db)
  },
})

/**
 * One CHECK states the allowed values of a row for each type. A shipment that commits a reservation takes reserved stock.
 * Functions build whole rows, so a new column must be the last.
 */
async function createTable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`CREATE TABLE ${names.id('movements')} (
    id bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 9007199254740991),
    product_id bigint NOT NULL,
    location_id bigint NOT NULL,
    type text NOT NULL,
    on_hand_delta bigint NOT NULL,
    reserved_delta bigint NOT NULL,
    on_hand_after bigint NOT NULL,
    reserved_after bigint NOT NULL,
    reason varchar(255),
    reference varchar(255),
    transfer_id bigint,
    reservation_id bigint,
    actor text,
    created_at timestamptz NOT NULL,
    CONSTRAINT ${names.local('movements_pkey')} PRIMARY KEY (id),
    CONSTRAINT ${names.local('movements_deltas_check')} CHECK (CASE type
      WHEN 'receive' THEN on_hand_delta > 0 AND reserved_delta = 0
      WHEN 'ship' THEN on_hand_delta < 0 AND reserved_delta IN (0, on_hand_delta)
      WHEN 'adjust' THEN on_hand_delta <> 0 AND reserved_delta = 0
      WHEN 'count' THEN reserved_delta = 0
      WHEN 'transfer' THEN on_hand_delta <> 0 AND reserved_delta = 0
      WHEN 'reserve' THEN on_hand_delta = 0 AND reserved_delta > 0
      WHEN 'release' THEN on_hand_delta = 0 AND reserved_delta < 0
      WHEN 'expire' THEN on_hand_delta = 0 AND reserved_delta < 0
      ELSE false
    END),
    CONSTRAINT ${names.local('movements_after_check')} CHECK (
      on_hand_after >= 0 AND reserved_after BETWEEN 0 AND on_hand_after
      AND on_hand_after - on_hand_delta >= 0
      AND reserved_after - reserved_delta BETWEEN 0 AND on_hand_after - on_hand_delta
    ),
    CONSTRAINT ${names.local('movements_reason_check')} CHECK (type <> 'adjust' OR reason IS NOT NULL),
    CONSTRAINT ${names.local('movements_transfer_check')} CHECK ((type = 'transfer') = (transfer_id IS NOT NULL)),
    CONSTRAINT ${names.local('movements_reservation_check')} CHECK (
      (type IN ('reserve', 'release', 'expire') OR reserved_delta < 0) = (reservation_id IS NOT NULL)
    )
  )`.execute(db)
}

/** A list of movements is ordered by time. Each filter has an index with this order. */
async function createIndexes(db: Kysely<unknown>, names: Names): Promise<void> {
  const indexes = [
    sql`${names.local('movements_level_idx')} ON ${names.id('movements')} (product_id, location_id, created_at, id)`,
    sql`${names.local('movements_product_idx')} ON ${names.id('movements')} (product_id, created_at, id)`,
    sql`${names.local('movements_location_idx')} ON ${names.id('movements')} (location_id, created_at, id)`,
    sql`${names.local('movements_type_idx')} ON ${names.id('movements')} (type, created_at, id)`,
    sql`${names.local('movements_reference_idx')} ON ${names.id('movements')} (reference, created_at, id)
      WHERE reference IS NOT NULL`,
    sql`${names.local('movements_created_at_idx')} ON ${names.id('movements')} (created_at, id)`,
  ]
  for (const index of indexes) await sql`CREATE INDEX ${index}`.execute(db)
}

/** Refuses changes of rows, even by the owner of the table. The role of the service has no right to change them. */
async function refuseChanges(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('refuse_change')}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END $$`.execute(db)
  await sql`
    CREATE TRIGGER ${names.local('movements_append_only')} BEFORE UPDATE OR DELETE OR TRUNCATE
    ON ${names.id('movements')} FOR EACH STATEMENT EXECUTE FUNCTION ${names.id('refuse_change')}()`.execute(db)
}
