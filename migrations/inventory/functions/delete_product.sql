-- Deletes a product. The row stays for the stock movements that point at it, its id answers 404, and its SKU becomes free.
-- A trigger refuses a product that has stock (see 0005-guard-stock.ts). Like change_product, the function waits up to 8 s for an
-- import that is being applied.
--
-- p_versions: versions that the deletion may be based on; null accepts any.
-- Returns the verdict done, not-found or stale.
--
-- Lock order: the product for its version, then the same row in the trigger, against movements that are under way. A movement
-- locks its level before the product, and a deletion locks no level, so that the two never wait for each other.
CREATE OR REPLACE FUNCTION {{delete_product}}(p_id bigint, p_versions integer[], OUT verdict text)
RETURNS text
LANGUAGE plpgsql
{{include:hot.sql}}
SET lock_timeout = '8s'
AS $$
DECLARE
  held_version integer;
BEGIN
  SELECT p.version INTO held_version FROM {{products}} p
    WHERE p.id = p_id AND p.deleted_at IS NULL FOR NO KEY UPDATE;
{{include:refuse_stale_version.sql}}
  verdict := 'done';
  UPDATE {{products}}
    SET deleted_at = now(), updated_at = now(), version = held_version + 1,
      revision = nextval('{{product_revision_seq}}')
    WHERE id = p_id;
END
$$;
