-- distribute: coordinator
-- Deletes at most p_limit old events of several merchants, as delete_events_of does for one. Returns their number.
CREATE OR REPLACE FUNCTION {{delete_old_events}}(p_merchant_ids text[], p_limit int)
RETURNS int
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  merchant text;
  deleted int := 0;
BEGIN
  FOREACH merchant IN ARRAY p_merchant_ids LOOP
    EXIT WHEN deleted >= p_limit;
    deleted := deleted + {{delete_events_of}}(merchant, p_limit - deleted);
  END LOOP;
  RETURN deleted;
END
$$;
