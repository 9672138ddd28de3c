-- distribute: p_merchant_id
-- Stores p_to as the offered step of an order, if p_from is still the last offered step. Otherwise another request has offered a
-- step meanwhile, and nothing changes.
--
-- Lock order: only the session.
CREATE OR REPLACE FUNCTION {{offer_step}}(p_merchant_id text, p_session_id text, p_from text, p_to text)
RETURNS void
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  UPDATE {{payment_sessions}} s SET step = p_to
    WHERE s.merchant_id = p_merchant_id AND s.id = p_session_id AND s.step = p_from;
END
$$;
