-- distribute: coordinator
-- Adds an audit log row for data that an operator has read, if such a read must be logged. p_payload: the operator, the operator
-- key and the data read. (console reference: Audit of operators)
--
-- Takes no lock.
CREATE OR REPLACE FUNCTION {{add_operator_read}}(p_action text, p_payload jsonb)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT {{add_audit}}(NULL, NULL, 'operator.' || p_action, p_payload);
$$;
