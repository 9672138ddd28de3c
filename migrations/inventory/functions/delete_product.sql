-- Deletes a product. The row stays for the movements that reference it, its id answers 404, and its SKU can be used again. A
-- trigger refuses to delete a product that has stock (see 0005-guard-stock.ts). Like change_product, the function waits up to 8 s
-- for an import.
--
-- p_versions: the versions on which the deletion may be based; null accepts any. Returns the verdict done, not-found or stale.
--
-- Lock order: the product for its version, then the same row in the trigger, which waits for running movements. A movement locks
-- its level before the product, and a deletion locks no level, so the two cannot deadlock.
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
