-- distribute: p_merchant_id
-- Executes captures, refunds and voids on transactions of one merchant, with the verdicts, locks and rows of run_operations. With
-- a distributed database the service calls this function, because all its statements run on the merchant's node. p_merchant_id:
-- '' if the ids belong to no merchant.
--
-- Each statement reads one table and filters by merchant. A distributed database keeps the plan of such a statement, but plans
-- all other statements again at each call.
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
  -- The ids of the requested transactions, of those that belong to the merchant, and of those to lock.
  asked text[]; present text[]; wanted text[];
  locked {{transactions}}[] := '{}';
  -- The key and the user of the previous operation, the app or user that they identify, and its membership of the merchant.
  caller record := ROW(NULL::text, NULL::text);
  identity text; member_of text;
  instrument {{instruments}}; trail json;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  {{include:check_operation_terms.sql}}
  -- 1. Check API key, transaction, membership and permission, in this order.
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
  -- 2. Lock the rows one by one, in the order of their ids.
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
    -- 3. Decide each operation, in the order of the transactions.
    {{include:decide_next.sql}}
  END LOOP;
  -- 4. Write the ledger, the amounts of the transactions, and the keys.
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
  -- 5. An idempotent request returns its trail as it was then: up to the entry of its first request.
  FOREACH result IN ARRAY results LOOP
    held := result.transaction; movement := result.movement;
    SELECT n.* INTO instrument FROM {{instruments}} n WHERE n.merchant_id = p_merchant_id AND n.id = held.instrument_id;
    SELECT {{include:trail_json.sql}} INTO trail FROM {{trail_entries}} e
      WHERE e.merchant_id = p_merchant_id AND e.transaction_id = held.id AND e.seq <= movement.seq;
    RETURN QUERY SELECT result.verdict, result.identity_id, result.possible, movement, held, instrument, trail;
  END LOOP;
END
$$;
