-- distribute: p_merchant_id
-- Stores that the client has received the task of a step of an order, if this step was offered last.
--
-- Lock order: only the session.
CREATE OR REPLACE FUNCTION {{take_step}}(p_merchant_id text, p_session_id text, p_step text)
RETURNS void
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  UPDATE {{payment_sessions}} s SET taken_step = p_step
    WHERE s.merchant_id = p_merchant_id AND s.id = p_session_id AND s.step = p_step;
END
$$;
