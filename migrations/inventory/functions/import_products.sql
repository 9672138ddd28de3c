-- Stores a batch of products in one statement. With one statement for each product, most of the time would be network latency.
-- The result is the same as if the products were stored in sequence. If several products of the batch have the same SKU, the
-- statement stores one of them: the last, or the first if p_replace is false. Ids rise in the order of the batch. A product with
-- equal attributes stays unchanged.
--
-- p_replace: whether an existing product gets the attributes of the batch. p_skus, p_attributes: the products, in the order of
-- the file. Returns the verdict created, updated or exists for each place in the batch, from 1.
--
-- Lock order: new products in the order of the batch, then existing products in the order of their ids. Two batches that create
-- the same products in opposite orders can deadlock. A batch can also deadlock with a change that gives a product of the batch a
-- SKU which the batch creates. PostgreSQL then ends one of them, and the caller runs it again.
CREATE OR REPLACE FUNCTION {{import_products}}(p_replace boolean, p_skus text[], p_attributes text[])
RETURNS TABLE (place bigint, verdict text)
LANGUAGE plpgsql
SET plan_cache_mode = 'force_custom_plan'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
BEGIN
  IF NOT p_replace THEN
    -- An existing product stays unchanged, whether this batch or another transaction created it.
    RETURN QUERY
      WITH given AS (
        SELECT place, sku, attributes, row_number() OVER (PARTITION BY sku ORDER BY place) AS turn
        FROM unnest(p_skus, p_attributes) WITH ORDINALITY AS u (sku, attributes, place)
      ), chosen AS (
        SELECT place, sku, attributes FROM given WHERE turn = 1
      ), written AS (
        INSERT INTO {{products}} AS p (sku, attributes)
        SELECT sku, attributes::jsonb FROM chosen ORDER BY place
        ON CONFLICT (sku) WHERE deleted_at IS NULL DO NOTHING
        RETURNING p.sku, p.version
      )
      SELECT given.place, CASE WHEN written.sku IS NULL THEN 'exists' ELSE 'created' END
      FROM given LEFT JOIN written ON written.sku = given.sku AND given.turn = 1;
  ELSIF (SELECT count(DISTINCT sku) = count(*) FROM unnest(p_skus) AS sku) THEN
    -- No SKU occurs twice. A written product is new if its version is 1.
    RETURN QUERY
      WITH chosen AS (
        SELECT place, u.sku, u.attributes, (
          SELECT p.id FROM {{products}} p WHERE p.sku = u.sku AND p.deleted_at IS NULL
        ) AS held_id
        FROM unnest(p_skus, p_attributes) WITH ORDINALITY AS u (sku, attributes, place)
      ), written AS (
        INSERT INTO {{products}} AS p (sku, attributes)
        SELECT sku, attributes::jsonb FROM chosen ORDER BY held_id NULLS FIRST, place
        ON CONFLICT (sku) WHERE deleted_at IS NULL DO UPDATE
          SET attributes = EXCLUDED.attributes, version = p.version + 1,
            revision = nextval('{{product_revision_seq}}'), updated_at = now()
          WHERE p.attributes::text <> EXCLUDED.attributes::text
        RETURNING p.sku, p.version
      )
      SELECT chosen.place,
        CASE WHEN written.version = 1 THEN 'created' WHEN written.version > 1 THEN 'updated' ELSE 'exists' END
      FROM chosen LEFT JOIN written ON written.sku = chosen.sku;
  ELSE
    -- Compare each row with the previous row of the same SKU in the batch, or with the stored product if there is none. Compare
    -- digests, because a text may have 64 KiB.
    RETURN QUERY
      WITH given AS MATERIALIZED (
        SELECT place, sku, attributes::jsonb AS attributes
        FROM unnest(p_skus, p_attributes) WITH ORDINALITY AS u (sku, attributes, place)
      ), digested AS MATERIALIZED (
        SELECT place, sku, sha256(convert_to(attributes::text, 'UTF8')) AS own FROM given
      ), compared AS MATERIALIZED (
        SELECT place, sku, own, lag(own) OVER in_sku AS earlier, first_value(place) OVER in_sku AS first_place,
          lead(place) OVER in_sku IS NULL AS is_last
        FROM digested WINDOW in_sku AS (PARTITION BY sku ORDER BY place)
      ), held AS MATERIALIZED (
        SELECT place, p.id, sha256(convert_to(p.attributes::text, 'UTF8')) AS own
        FROM compared LEFT JOIN LATERAL (
          SELECT id, attributes FROM {{products}} WHERE sku = compared.sku AND deleted_at IS NULL LIMIT 1
        ) p ON true
        WHERE place = first_place
      ), chosen AS (
        SELECT first_place AS place, sku, attributes FROM compared JOIN given USING (place, sku) WHERE is_last
      ), written AS (
        INSERT INTO {{products}} AS p (sku, attributes)
        SELECT sku, attributes FROM chosen JOIN held USING (place) ORDER BY held.id NULLS FIRST, place
        ON CONFLICT (sku) WHERE deleted_at IS NULL DO UPDATE
          SET attributes = EXCLUDED.attributes, version = p.version + 1,
            revision = nextval('{{product_revision_seq}}'), updated_at = now()
          WHERE p.attributes::text <> EXCLUDED.attributes::text
        RETURNING p.sku, p.version
      )
      SELECT compared.place,
        CASE
          WHEN earlier IS NOT NULL THEN CASE WHEN earlier <> compared.own THEN 'updated' ELSE 'exists' END
          WHEN written.version = 1 THEN 'created'
          -- Another transaction created the product while this statement ran.
          WHEN held.own IS NULL THEN CASE WHEN written.version > 1 THEN 'updated' ELSE 'exists' END
          WHEN held.own <> compared.own THEN 'updated'
          ELSE 'exists'
        END
      FROM compared LEFT JOIN held USING (place) LEFT JOIN written USING (sku);
  END IF;
END
$$;
