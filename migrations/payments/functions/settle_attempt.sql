-- distribute: p_merchant_id
-- Stores the outcome of an unknown attempt, after an inquiry or an operator has found it. p_state: declined, or reversed if the
-- acquirer has taken back its approval. Returns false if the attempt is no longer unknown, so a second call changes nothing.
-- (reference: Attempts)
--
-- Lock order: only the attempt. A second call waits for the row, reads it again and returns false. finish_payment and
-- finish_charge lock the attempt first too. This function takes no other lock, so it cannot deadlock with them.
CREATE OR REPLACE FUNCTION {{settle_attempt}}(p_merchant_id text, p_attempt_id text, p_state text)
RETURNS boolean
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  IF coalesce(p_state, '') NOT IN ('declined', 'reversed') THEN
    RAISE EXCEPTION '% is not an outcome', p_state USING ERRCODE = 'invalid_parameter_value';
  END IF;
  UPDATE {{attempts}} a SET state = p_state
    WHERE a.merchant_id = p_merchant_id AND a.id = p_attempt_id AND a.state = 'unknown';
  RETURN FOUND;
END
$$;
