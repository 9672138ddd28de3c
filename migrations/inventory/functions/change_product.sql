-- Changes a product. The version on which the change is based (If-Match) is compared under the lock of the row, so of two changes
-- based on one version only one succeeds. This function applies the merge patch, because numbers keep all their digits only as
-- jsonb. An import takes seconds, so a change waits up to 8 s for the row.
--
-- p_versions: the versions on which the change may be based; null accepts any. p_sku, p_attributes: the new values; null keeps a
-- value. p_merge: whether p_attributes is a merge patch instead of the new attributes. p_bytes_max: the maximum length of the
-- attributes as text after a merge patch. Returns done with the changed product and whether it changed, or the verdict not-found,
-- stale, or attributes-... with the fault of the merged attributes (see attributes_fault.sql).
--
-- Lock order: the product, then its new SKU in the unique index. Two changes that exchange the SKUs of two products can deadlock,
-- and so can a change with an import that creates the new SKU. PostgreSQL then ends one of them, and the caller runs it again.
CREATE OR REPLACE FUNCTION {{change_product}}(
  p_id bigint, p_versions integer[], p_sku text, p_attributes jsonb, p_merge boolean, p_bytes_max integer,
  OUT verdict text, OUT changed boolean, OUT new_sku text, OUT new_attributes text, OUT new_version integer
)
RETURNS record
LANGUAGE plpgsql
{{include:hot.sql}}
SET lock_timeout = '8s'
AS $$
DECLARE
  held_sku text;
  held jsonb;
  held_version integer;
  next jsonb;
BEGIN
  SELECT p.sku, p.attributes, p.version INTO held_sku, held, held_version FROM {{products}} p
    WHERE p.id = p_id AND p.deleted_at IS NULL FOR NO KEY UPDATE;
{{include:refuse_stale_version.sql}}
  next := CASE
    WHEN p_attributes IS NULL THEN held
    WHEN p_merge THEN {{merge_patch}}(held, p_attributes)
    ELSE p_attributes
  END;
  -- PostgreSQL prints jsonb with spaces, so stored attributes may exceed the limit. Such attributes must not grow.
  verdict := CASE WHEN p_merge THEN 'attributes-'
    || {{attributes_fault}}(next, greatest(p_bytes_max, octet_length(held::text))) END;
  IF verdict IS NOT NULL THEN RETURN; END IF;
  verdict := 'done';
  new_sku := coalesce(p_sku, held_sku);
  new_attributes := next::text;
  -- Compare texts: 0.1 and 0.10 are equal as jsonb, but differ for a client.
  changed := new_sku <> held_sku OR new_attributes <> held::text;
  new_version := held_version + changed::integer;
  IF NOT changed THEN RETURN; END IF;
  UPDATE {{products}}
    SET sku = new_sku, attributes = next, version = new_version,
      revision = nextval('{{product_revision_seq}}'), updated_at = now()
    WHERE id = p_id;
END
$$;
