-- distribute: everywhere
-- The merchants that an id may belong to: that of its tag, or the one that a seeded id is listed under. At most one of them has
-- the row.
CREATE OR REPLACE FUNCTION {{owners}}(p_id text)
RETURNS TABLE (merchant_id text)
LANGUAGE plpgsql STABLE ROWS 2
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT m.id FROM {{merchants}} m WHERE m.tag = right(p_id, 8)
  UNION ALL
  SELECT a.merchant_id FROM {{id_aliases}} a WHERE a.id = p_id;
END
$$;
