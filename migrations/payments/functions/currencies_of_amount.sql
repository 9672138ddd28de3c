-- distribute: coordinator
-- The currencies that have transactions of an amount. Each step reads one entry of the index, however many there are of a
-- currency. A recursive query would do the same, but Citus refuses one on a distributed table.
CREATE OR REPLACE FUNCTION {{currencies_of_amount}}(p_amount bigint)
RETURNS text[]
LANGUAGE plpgsql STABLE
{{include:hot.sql}}
AS $$
DECLARE
  found text[] := '{}';
  next text := '';
BEGIN
  LOOP
    SELECT min(r.currency) INTO next FROM {{transactions}} r WHERE r.amount = p_amount AND r.currency > next;
    EXIT WHEN next IS NULL;
    found := found || next;
  END LOOP;
  RETURN found;
END
$$;
