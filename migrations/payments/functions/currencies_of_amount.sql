-- distribute: coordinator
-- Returns the currencies of all transactions with an amount. Each step reads one index entry, however many transactions a
-- currency has. A recursive query would do the same, but Citus refuses recursive queries on a distributed table.
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
