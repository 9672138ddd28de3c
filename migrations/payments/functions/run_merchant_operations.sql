-- distribute: p_merchant_id
-- Carries out captures, refunds and voids on transactions of one merchant, as run_operations does for
-- transactions of any: with the same verdicts, locks and rows. A distributed database is called with this
-- one, because all statements of it run on the node of the merchant. p_merchant_id: '' when the ids belong to
-- no merchant.
--
-- A statement names one table, and finds its rows by the merchant: a distributed database keeps the plan of such a statement, and
-- plans any other again at each call.
--
-- Lock order: the transactions by their id, the balance, the keys, as in run_operations.
CREATE OR REPLACE FUNCTION {{run_merchant_operations}}(
  p_merchant_id text, p_operations json, p_margin_bps int, p_rate_age_days_max int
)
RETURNS TABLE (
  verdict text, identity_id text, possible bigint, movement {{movement}}, transaction {{transactions}},
  instrument {{instruments}}, trail json
)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_column
DECLARE
  {{include:operation_variables.sql}}
  merchant {{merchants}};
  movement {{movement}}; used_key {{idempotency}};
  -- The ids of all transactions that are asked for, of this merchant's transactions, and of the transactions to lock.
  asked text[]; present text[]; wanted text[];
  locked {{transactions}}[] := '{}';
  -- The key and the user of the operation before, the app or user that they name, and whether it belongs to the merchant.
  caller record := ROW(NULL::text, NULL::text);
  identity text; member_of text;
  instrument {{instruments}}; trail json;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:check_operation_terms.sql}}
  -- 1. Judge API key, transaction, membership and permission, in this order.
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  asked := ARRAY(SELECT a.operation ->> 'transactionId' FROM json_array_elements(p_operations) AS a (operation));
  SELECT array_agg(x.id) INTO present FROM {{transactions}} x WHERE x.merchant_id = p_merchant_id AND x.id = ANY (asked);
  FOR each IN
    SELECT i.* {{include:asked_operations.sql}} ORDER BY i.place
  LOOP
    IF caller IS DISTINCT FROM ROW(each.key_mac, each.user_email) THEN
      caller := ROW(each.key_mac, each.user_email);
      IF each.key_mac IS NOT NULL THEN
        {{include:app_of_key.sql key_mac => decode(each.key_mac, 'hex')}} INTO identity;
        {{include:app_membership.sql merchant_id => p_merchant_id, identity_id => identity}} INTO member_of;
      ELSE
        {{include:user_of_address.sql user_email => each.user_email}} INTO identity;
        {{include:user_membership.sql merchant_id => p_merchant_id, identity_id => identity}} INTO member_of;
      END IF;
    END IF;
    judged := judged || {{include:judged_operation.sql operation => each, identity_id => identity, member_of => member_of,
      is_found => each.transaction_id = ANY (present), merchant => merchant, merchant_id => p_merchant_id}};
  END LOOP;
  -- 2. The rows are locked one by one, in the order of their ids.
  wanted := ARRAY(SELECT v.transaction_id FROM unnest(judged) v WHERE v.verdict = 'done');
  FOR held IN
    SELECT x.* FROM {{transactions}} x WHERE x.merchant_id = p_merchant_id AND x.id = ANY (wanted) ORDER BY x.id FOR UPDATE
  LOOP
    locked := locked || held;
  END LOOP;
  FOR each IN
    SELECT v.ordinality AS place, t::{{transactions}} AS transaction
    FROM unnest(judged) WITH ORDINALITY v
    LEFT JOIN unnest(locked) t ON t.id = v.transaction_id
    ORDER BY v.transaction_id
  LOOP
    -- 3. Each operation is decided, in the order of the transactions.
    {{include:decide_next.sql}}
  END LOOP;
  -- 4. The ledger, the amounts of the transactions, and the keys.
  IF cardinality(movements) > 0 THEN
    PERFORM FROM {{post}}(movements);
    FOREACH movement IN ARRAY movements LOOP
      UPDATE {{transactions}} x SET pending = movement.pending, captured = movement.captured, refunded = movement.refunded,
        voided = movement.voided, trail_length = movement.seq
        WHERE x.merchant_id = p_merchant_id AND x.id = movement.transaction_id;
    END LOOP;
    FOREACH used_key IN ARRAY keys LOOP
      INSERT INTO {{idempotency}} VALUES (p_merchant_id, used_key.identity_id, used_key.method, used_key.path,
        used_key.key, used_key.fingerprint, used_key.status, used_key.error_code, used_key.object_id,
        used_key.pending, used_key.captured, used_key.refunded, used_key.voided, used_key.disputed,
        used_key.trail_length, used_key.body, used_key.created);
    END LOOP;
  END IF;
  -- 5. A repeat shows its trail as it was: up to the entry of its first request.
  FOREACH result IN ARRAY results LOOP
    held := result.transaction; movement := result.movement;
    SELECT n.* INTO instrument FROM {{instruments}} n WHERE n.merchant_id = p_merchant_id AND n.id = held.instrument_id;
    SELECT {{include:trail_json.sql}} INTO trail FROM {{trail_entries}} e
      WHERE e.merchant_id = p_merchant_id AND e.transaction_id = held.id AND e.seq <= movement.seq;
    RETURN QUERY SELECT result.verdict, result.identity_id, result.possible, movement, held, instrument, trail;
  END LOOP;
END
$$;
