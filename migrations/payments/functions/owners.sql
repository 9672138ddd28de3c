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
  SELECT o.merchant_id FROM ({{include:owners.sql id => p_id}}) o;
END
$$;
