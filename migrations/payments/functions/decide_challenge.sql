-- distribute: p_merchant_id
-- Stores the bank's answer to a challenge. Only the first answer counts, and only before the session expires.
--
-- Lock order: only the session. Of two concurrent answers, the second finds the outcome of the first.
CREATE OR REPLACE FUNCTION {{decide_challenge}}(p_merchant_id text, p_session_id text, p_outcome text)
RETURNS void
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  moment timestamptz;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  PERFORM s.id FROM {{payment_sessions}} s WHERE s.merchant_id = p_merchant_id AND s.id = p_session_id FOR UPDATE;
  -- The session may have expired while this call waited for its row.
  moment := clock_timestamp();
  UPDATE {{payment_sessions}} s SET outcome = p_outcome
    WHERE s.merchant_id = p_merchant_id AND s.id = p_session_id AND s.outcome IS NULL AND s.attempt_id IS NULL
      AND s.expires > moment AND s.challenged > moment - interval '10 minutes';
END
$$;
