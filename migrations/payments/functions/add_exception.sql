-- distribute: p_merchant_id
-- Stores an answer of an acquirer that contradicts the books, once for each id: a digest of its reference.
-- Returns whether it is new. (reference: Exceptions)
--
-- Takes no lock: it only inserts a row.
CREATE OR REPLACE FUNCTION {{add_exception}}(p_merchant_id text, p_exception_id text, p_payload jsonb)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO {{acquirer_exceptions}} (merchant_id, id, payload, created, resolved)
    VALUES (p_merchant_id, p_exception_id, p_payload, now(), NULL)
    ON CONFLICT DO NOTHING;
  RETURN FOUND;
END
$$;
