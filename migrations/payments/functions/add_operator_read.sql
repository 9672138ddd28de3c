-- distribute: coordinator
-- Adds a row to the audit log for something that an operator has read and that must not be read unseen.
-- p_payload: who has read, by which key, and what. (console reference: Audit of operators)
--
-- Takes no lock.
CREATE OR REPLACE FUNCTION {{add_operator_read}}(p_action text, p_payload jsonb)
RETURNS void
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT {{add_audit}}(NULL, NULL, 'operator.' || p_action, p_payload);
$$;
