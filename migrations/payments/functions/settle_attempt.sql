-- distribute: p_merchant_id
-- Stores the outcome of an attempt whose outcome was unknown: an inquiry or an operator has found it.
-- p_state: declined, or reversed for an approval that the acquirer has taken back. False when the attempt is
-- no longer unknown, so a second call changes nothing. (reference: Attempts)
--
-- Lock order: the attempt, and nothing else. A second call waits for the row, looks at it again and returns
-- false. finish_payment and finish_charge lock the attempt first too. This function locks nothing else, so it
-- and they never wait for each other.
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
