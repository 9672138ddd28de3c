-- distribute: p_merchant_id
-- Stores the outcome of a payment attempt, once. p_outcome: approved, declined or unknown. Declined and unknown have a status
-- code and the number of its processing error. If the outcome is unknown, a job asks the acquirer. Only an approval spends the
-- tokens.
--
-- Verdict: done with the id of the transaction; settled if another process was first.
--
-- Lock order: the attempt, the instrument, the balance, the session, the tokens, the key. The lock of the attempt decides which
-- of two calls stores the outcome. The other call locks nothing more. begin_payment also locks session, key and tokens. But it
-- stops at a session that has an attempt, and it never locks a balance, so no deadlock is possible.
CREATE OR REPLACE FUNCTION {{finish_payment}}(
  p_merchant_id text, p_attempt_id text, p_outcome text, p_status_code text, p_error_code int, p_acquirer_ref text,
  p_network_ref text
)
RETURNS TABLE (verdict text, transaction_id text)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  attempt {{attempts}};
  jtis text[];
  ends timestamptz := date_trunc('milliseconds', clock_timestamp()) + interval '30 minutes';
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  IF coalesce(p_outcome, '') NOT IN ('approved', 'declined', 'unknown') THEN
    RAISE EXCEPTION '% is not an outcome', p_outcome USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT a.* INTO STRICT attempt FROM {{attempts}} a
    WHERE a.merchant_id = p_merchant_id AND a.id = p_attempt_id AND a.kind = 'payment' FOR UPDATE;
  IF attempt.state <> 'sent' THEN verdict := 'settled'; RETURN NEXT; RETURN; END IF;
  UPDATE {{attempts}} a SET state = p_outcome
    WHERE a.merchant_id = p_merchant_id AND a.id = p_attempt_id;
  IF p_network_ref IS NOT NULL THEN
    UPDATE {{instruments}} i SET network_ref = p_network_ref
      WHERE i.merchant_id = p_merchant_id AND i.id = attempt.request ->> 'instrumentId';
  END IF;
  transaction_id := {{record_authorization}}(
    p_merchant_id, attempt.request, p_outcome, p_error_code, p_acquirer_ref
  );
  UPDATE {{payment_sessions}} s
    SET transaction_id = transaction_id, status_code = p_status_code,
      expires = ends
    WHERE s.merchant_id = p_merchant_id AND s.id = attempt.request ->> 'sessionId';
  IF p_outcome <> 'approved' THEN
    SELECT array_agg(t.jti) INTO jtis FROM jsonb_to_recordset(attempt.request -> 'tokens') AS t(jti text);
    DELETE FROM {{spent_tokens}} t WHERE t.merchant_id = p_merchant_id AND t.jti = ANY (jtis);
  END IF;
  IF attempt.request ->> 'key' IS NOT NULL THEN
    PERFORM {{finish_key}}(
      jsonb_populate_record(NULL::{{caller}}, attempt.request), p_merchant_id, p_merchant_id,
      CASE WHEN p_error_code IS NULL THEN 201 ELSE 400 END, transaction_id, p_error_code, p_status_code
    );
  END IF;
  IF p_outcome = 'unknown' THEN
    PERFORM {{enqueue}}(p_merchant_id, p_attempt_id, 'inquiry', '{}');
  END IF;
  verdict := 'done';
  RETURN NEXT;
END
$$;
