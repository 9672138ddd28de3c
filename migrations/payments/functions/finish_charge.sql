-- distribute: p_merchant_id
-- Stores the outcome of a charge attempt, once. p_outcome: approved, declined or unknown. p_error_code: the number of the
-- processing error, NULL for an approval. If the outcome is unknown, the caller gets error 12, and a job asks the acquirer.
--
-- Verdict: done with the id of the transaction; settled if another process was first. (reference: Charging again)
--
-- Lock order: the attempt, the balance, the key. The lock of the attempt decides which of two calls stores the outcome. The other
-- call locks nothing more. Only this attempt uses the key, so the row of the key is free by then.
CREATE OR REPLACE FUNCTION {{finish_charge}}(
  p_merchant_id text, p_attempt_id text, p_outcome text, p_error_code int, p_acquirer_ref text
)
RETURNS TABLE (verdict text, transaction_id text)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  attempt {{attempts}};
  caller {{caller}};
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  IF coalesce(p_outcome, '') NOT IN ('approved', 'declined', 'unknown') THEN
    RAISE EXCEPTION '% is not an outcome', p_outcome USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT a.* INTO STRICT attempt FROM {{attempts}} a
    WHERE a.merchant_id = p_merchant_id AND a.id = p_attempt_id AND a.kind = 'charge' FOR UPDATE;
  IF attempt.state <> 'sent' THEN verdict := 'settled'; RETURN NEXT; RETURN; END IF;
  UPDATE {{attempts}} a SET state = p_outcome
    WHERE a.merchant_id = p_merchant_id AND a.id = p_attempt_id;
  transaction_id := {{record_authorization}}(
    p_merchant_id, attempt.request || '{"recurring":true,"codePresent":false}', p_outcome, p_error_code, p_acquirer_ref
  );
  IF attempt.request ->> 'key' IS NOT NULL THEN
    caller := jsonb_populate_record(NULL::{{caller}}, attempt.request);
    PERFORM {{finish_key}}(
      caller, p_merchant_id, attempt.request ->> 'identityId', CASE WHEN p_error_code IS NULL THEN 201 ELSE 400 END,
      CASE WHEN p_error_code IS NULL THEN transaction_id END, p_error_code, NULL
    );
  END IF;
  IF p_outcome = 'unknown' THEN
    PERFORM {{enqueue}}(p_merchant_id, p_attempt_id, 'inquiry', '{}');
  END IF;
  verdict := 'done';
  RETURN NEXT;
END
$$;
