-- distribute: everywhere
-- Writes the transaction of an attempt, under the merchant's lock: its row, its id, its event and, if the card's scenario has
-- one, a fraud alert. p_transaction: the request of the attempt. p_outcome and p_error_code: approved without an error code, or
-- another outcome with an error code. Returns the id.
--
-- The funding currency is read under the lock of the balance, so a move of the merchant to the euro comes wholly before or after.
CREATE OR REPLACE FUNCTION {{record_authorization}}(
  p_merchant_id text, p_transaction jsonb, p_outcome text, p_error_code int, p_acquirer_ref text
)
RETURNS text
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  ids record := {{take_ids}}(p_merchant_id, 4);
  new_id text := {{id_at}}(ids.first, ids.tag);
  approved boolean := p_error_code IS NULL;
BEGIN
  -- The login of the service can pass any arguments. A CHECK requires the acquirer's reference for a live approval.
  IF (p_outcome = 'approved') <> approved THEN
    RAISE EXCEPTION 'an approval has no error, and any other outcome has one' USING ERRCODE = 'check_violation';
  END IF;
  INSERT INTO {{transactions}} (
    merchant_id, id, created, instrument_id, source_id, test, currency, funding_currency, amount, descriptor, reference, pending,
    custom, tds, recurring, successful, error_code, plan, unplanned, code_present, session_id, acquirer,
    acquirer_ref, last4
  )
  SELECT p_merchant_id, new_id, {{created_at}}(ids.first), v."instrumentId", v."sourceId", v.test, v.currency, b.currency,
    v.amount, v.descriptor, v.reference, CASE WHEN approved THEN v.amount ELSE 0 END,
    v.custom, v.tds, v.recurring, approved, p_error_code, v.plan, v.unplanned, v."codePresent", v."sessionId",
    v.acquirer, p_acquirer_ref, i.last4
  FROM jsonb_to_record(p_transaction) AS v(
    "instrumentId" text, "sourceId" text, test boolean, currency text, amount bigint, descriptor text,
    reference text, custom jsonb, tds text, recurring boolean, plan jsonb, unplanned jsonb, "codePresent" boolean,
    "sessionId" text, acquirer text
  ), {{instruments}} i, {{merchant_balances}} b
  WHERE i.merchant_id = p_merchant_id AND i.id = p_transaction ->> 'instrumentId' AND b.merchant_id = p_merchant_id;
  PERFORM {{record_states}}(p_merchant_id, 'transactions', ARRAY[new_id]);
  PERFORM {{add_event}}(
    p_merchant_id, {{id_at}}(ids.first + 1, ids.tag), {{created_at}}(ids.first + 1),
    CASE WHEN approved THEN 'transaction.created' ELSE 'transaction.failed' END, new_id, NULL
  );
  IF approved THEN
    PERFORM 1 FROM {{instruments}} i
      WHERE i.merchant_id = p_merchant_id AND i.id = p_transaction ->> 'instrumentId' AND (i.scenario ->> 'fraud')::boolean;
    IF FOUND THEN
      INSERT INTO {{frauds}} (merchant_id, id, created, transaction_id, reason)
        VALUES (p_merchant_id, {{id_at}}(ids.first + 2, ids.tag), {{created_at}}(ids.first + 2), new_id, 1);
      PERFORM {{add_event}}(
        p_merchant_id, {{id_at}}(ids.first + 3, ids.tag), {{created_at}}(ids.first + 3),
        'fraud.created', {{id_at}}(ids.first + 2, ids.tag), NULL
      );
    END IF;
  END IF;
  RETURN new_id;
END
$$;
