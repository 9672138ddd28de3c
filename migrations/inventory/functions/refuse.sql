-- Refuses a request. The exception undoes whatever the request has done, so no step needs to undo its work. The function that
-- answers the request catches it (see fragments/end_answered_call.sql).
--
-- p_quantity: the quantity that the refusal is about, or null.
CREATE OR REPLACE FUNCTION {{refuse}}(p_verdict text, p_quantity bigint)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  RAISE EXCEPTION '%', p_verdict USING ERRCODE = 'TR001', DETAIL = coalesce(p_quantity::text, '');
END
$$;
