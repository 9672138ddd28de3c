-- Refuses a request by an exception, which undoes all earlier steps of the request. The function that answers the request catches
-- the exception (see fragments/end_answered_call.sql).
--
-- p_quantity: the quantity that explains the refusal, or null.
CREATE OR REPLACE FUNCTION {{refuse}}(p_verdict text, p_quantity bigint)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  RAISE EXCEPTION '%', p_verdict USING ERRCODE = 'TR001', DETAIL = coalesce(p_quantity::text, '');
END
$$;
