// Of a sku that comes several times in a batch one product is stored. Each of them was written in a turn of its own: five hundred
// turns over the whole batch, each update walking past the index entries that those before it had left behind.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'
import { createImportProducts } from './0004-create-import-products.ts'

export const storeSkusOnce = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await sql`
      CREATE OR REPLACE FUNCTION ${names.id('import_products')}(p_replace boolean, p_skus text[], p_attributes text[])
      RETURNS TABLE (place bigint, verdict text)
      LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
      #variable_conflict use_column
      BEGIN
        IF NOT p_replace THEN
          ${storeFirst(names)}
        ELSIF (SELECT count(DISTINCT sku) = count(*) FROM unnest(p_skus) AS sku) THEN
          ${storeEach(names)}
        ELSE
          ${storeLast(names)}
        END IF;
      END $$`.execute(db)
  },
  down: async (db: Kysely<unknown>) => {
    const { up, down } = createImportProducts(names)
    await down?.(db)
    await up(db)
  },
})

/** Ids rise in the order of the file. */
function insert(names: Names, onConflict: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`INSERT INTO ${names.id('products')} AS p (sku, attributes)
              SELECT sku, attributes::jsonb FROM chosen ORDER BY place
              ON CONFLICT (sku) WHERE deleted_at IS NULL ${onConflict}
              RETURNING p.sku, p.version`
}

/** Attributes that are the same text leave the product as it is. */
function replaceOther(names: Names): RawBuilder<unknown> {
  return sql`DO UPDATE SET attributes = EXCLUDED.attributes, version = p.version + 1,
                revision = nextval('${names.id('product_revision_seq')}'), updated_at = now()
              WHERE p.attributes::text <> EXCLUDED.attributes::text`
}

/** A product that is there stays as it is, whether the file or somebody else made it. */
function storeFirst(names: Names): RawBuilder<unknown> {
  return sql`RETURN QUERY
            WITH given AS (
              SELECT place, sku, attributes, row_number() OVER (PARTITION BY sku ORDER BY place) AS turn
              FROM unnest(p_skus, p_attributes) WITH ORDINALITY AS u (sku, attributes, place)
            ), chosen AS (
              SELECT place, sku, attributes FROM given WHERE turn = 1
            ), written AS (
              ${insert(names, sql`DO NOTHING`)}
            )
            SELECT given.place, CASE WHEN written.sku IS NULL THEN 'exists' ELSE 'created' END
            FROM given LEFT JOIN written ON written.sku = given.sku AND given.turn = 1;`
}

/** Where no sku comes twice. A product that was written is new when its version is the first. */
function storeEach(names: Names): RawBuilder<unknown> {
  return sql`RETURN QUERY
            WITH chosen AS (
              SELECT place, sku, attributes
              FROM unnest(p_skus, p_attributes) WITH ORDINALITY AS u (sku, attributes, place)
            ), written AS (
              ${insert(names, replaceOther(names))}
            )
            SELECT chosen.place,
              CASE WHEN written.version = 1 THEN 'created' WHEN written.version > 1 THEN 'updated' ELSE 'exists' END
            FROM chosen LEFT JOIN written ON written.sku = chosen.sku;`
}

/**
 * Stores the last of each sku. What became of a product is told by the one before it: of the same sku in the batch, else in the
 * table. Digests are compared instead of texts, which may have 64 KiB each.
 */
function storeLast(names: Names): RawBuilder<unknown> {
  const digest = (attributes: RawBuilder<unknown>) => sql`sha256(convert_to(${attributes}::text, 'UTF8'))`
  return sql`RETURN QUERY
            WITH given AS MATERIALIZED (
              SELECT place, sku, attributes::jsonb AS attributes
              FROM unnest(p_skus, p_attributes) WITH ORDINALITY AS u (sku, attributes, place)
            ), digested AS MATERIALIZED (
              SELECT place, sku, ${digest(sql`attributes`)} AS own FROM given
            ), compared AS MATERIALIZED (
              SELECT place, sku, own, lag(own) OVER in_sku AS earlier, first_value(place) OVER in_sku AS first_place,
                lead(place) OVER in_sku IS NULL AS is_last
              FROM digested WINDOW in_sku AS (PARTITION BY sku ORDER BY place)
            ), held AS MATERIALIZED (
              SELECT place, (
                SELECT ${digest(sql`p.attributes`)} FROM ${names.id('products')} p
                WHERE p.sku = compared.sku AND p.deleted_at IS NULL
              ) AS own
              FROM compared WHERE place = first_place
            ), chosen AS (
              SELECT first_place AS place, sku, attributes FROM compared JOIN given USING (place, sku) WHERE is_last
            ), written AS (
              ${insert(names, replaceOther(names))}
            )
            SELECT compared.place,
              CASE
                WHEN earlier IS NOT NULL THEN CASE WHEN earlier <> compared.own THEN 'updated' ELSE 'exists' END
                WHEN written.version = 1 THEN 'created'
                -- Made by somebody else in this moment.
                WHEN held.own IS NULL THEN CASE WHEN written.version > 1 THEN 'updated' ELSE 'exists' END
                WHEN held.own <> compared.own THEN 'updated'
                ELSE 'exists'
              END
            FROM compared LEFT JOIN held USING (place) LEFT JOIN written USING (sku);`
}
