-- distribute: everywhere
-- Returns the merchants to which an id may belong: the merchant of its tag, and the merchant under which a seeded id is listed.
-- At most one of the two has the row.
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
