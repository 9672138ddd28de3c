// Products of a file, many in one call: a statement a product would spend most of its time on the way. Of a sku that is there
// twice in a call the second meets the first, as in separate calls: each turn takes one product of a sku.
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import type { Names } from '../migration.ts'

export const createImportProducts = (names: Names): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await sql`
      CREATE FUNCTION ${names.id('import_products')}(p_replace boolean, p_skus text[], p_attributes text[])
      RETURNS TABLE (place bigint, verdict text)
      LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' AS $$
      #variable_conflict use_column
      DECLARE
        turns bigint;
      BEGIN
        SELECT max(n) INTO turns FROM (SELECT count(*) AS n FROM unnest(p_skus) AS sku GROUP BY sku) counted;
        FOR turn_now IN 1 .. coalesce(turns, 0) LOOP
          IF p_replace THEN
            ${takeTurn(names, replaceOther(names))}
          ELSE
            ${takeTurn(names, sql`DO NOTHING`)}
          END IF;
        END LOOP;
      END $$`.execute(db)
  },
  down: async (db: Kysely<unknown>) => {
    await sql`DROP FUNCTION ${names.id('import_products')}(boolean, text[], text[])`.execute(db)
  },
})

/** Attributes that are the same text leave the product as it is. */
function replaceOther(names: Names): RawBuilder<unknown> {
  return sql`DO UPDATE SET attributes = EXCLUDED.attributes, version = p.version + 1,
                revision = nextval('${names.id('product_revision_seq')}'), updated_at = now()
              WHERE p.attributes::text <> EXCLUDED.attributes::text`
}

/** Ids rise in the order of the file. A product that was written is new when its version is the first. */
function takeTurn(names: Names, onConflict: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`RETURN QUERY
            WITH given AS (
              SELECT place, sku, attributes, row_number() OVER (PARTITION BY sku ORDER BY place) AS turn
              FROM unnest(p_skus, p_attributes) WITH ORDINALITY AS u (sku, attributes, place)
            ), present AS (
              SELECT place, sku, attributes FROM given WHERE given.turn = turn_now
            ), written AS (
              INSERT INTO ${names.id('products')} AS p (sku, attributes)
              SELECT sku, attributes::jsonb FROM present ORDER BY place
              ON CONFLICT (sku) WHERE deleted_at IS NULL ${onConflict}
              RETURNING p.sku, p.version
            )
            SELECT present.place,
              CASE WHEN written.version = 1 THEN 'created' WHEN written.version > 1 THEN 'updated' ELSE 'exists' END
            FROM present LEFT JOIN written ON written.sku = present.sku;`
}
