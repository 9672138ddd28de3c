-- distribute: coordinator
-- Stores the response of a claimed change, and adds its audit entry: every change has one. p_merchant_id: NULL if the change
-- concerns no merchant. p_payload: who acted, with which key, and what changed. (console reference: Audit of operators)
--
-- Needs no further lock: claim_operator_change has inserted the row in the same database transaction.
CREATE OR REPLACE FUNCTION {{finish_operator_change}}(
  p_actor_id text, p_key text, p_status int, p_body text, p_merchant_id text, p_action text, p_payload jsonb
)
RETURNS void
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
BEGIN
  UPDATE {{operator_changes}} o SET status = p_status, body = p_body
    WHERE o.actor_id = p_actor_id AND o.key = p_key AND o.status IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the change of an operator was not claimed' USING ERRCODE = 'no_data_found';
  END IF;
  PERFORM {{add_audit}}(p_merchant_id, NULL, 'operator.' || p_action, p_payload);
END
$$;
