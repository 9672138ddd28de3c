-- distribute: coordinator
-- Closes the registration of apps, or opens it as far as the service's settings allow. (console reference: Routes of payments)
--
-- Locks the only row of the table, so the call waits for the requests that have found the registration open.
CREATE OR REPLACE FUNCTION {{change_registration}}(p_is_closed boolean)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  UPDATE {{registration}} SET is_closed = p_is_closed;
$$;
