-- distribute: p_merchant_id
-- Carries out captures, refunds and voids on transactions of one merchant, as run_operations does for transactions of any: with the
-- same verdicts, locks and rows. A distributed database is called with this one, because all statements of it run on the node of
-- the merchant. p_merchant_id: '' when the ids belong to no merchant.
--
-- A statement names one table, and finds its rows by the merchant: a distributed database keeps the plan of such a statement, and
-- plans any other again at each call.
--
-- Lock order: the transactions by their id, the balance, the keys, as in run_operations.
CREATE OR REPLACE FUNCTION {{run_merchant_operations}}(
  p_merchant_id text, p_operations json, p_margin_bps int, p_rate_days int
)
RETURNS TABLE (
  verdict text, identity_id text, possible bigint, moment {{movement}}, transaction {{transactions}},
  instrument {{instruments}}, trail json
)
LANGUAGE plpgsql SECURITY DEFINER
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
  {{include:operation_variables.sql}}
  merchant {{merchants}};
  -- The ids of all operations, those of this merchant, and those that are locked.
  asked text[]; present text[]; wanted text[];
  locked {{transactions}}[] := '{}';
  -- The key and the user of the operation before, the app or user that they name, and whether it belongs to the merchant.
  caller record := ROW(NULL::text, NULL::text);
  identity text; member_of text;
  instrument {{instruments}}; trail json;
BEGIN
  PERFORM {{hold_merchant}}(p_merchant_id);
  {{include:check_operation_terms.sql}}
  -- 1. Judge API key, transaction, membership and permission, in this order.
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  asked := ARRAY(SELECT a.operation ->> 'transactionId' FROM json_array_elements(p_operations) AS a (operation));
  SELECT array_agg(x.id) INTO present FROM {{transactions}} x WHERE x.merchant_id = p_merchant_id AND x.id = ANY (asked);
  FOR i IN
    SELECT i.* {{include:asked_operations.sql}} ORDER BY i.place
  LOOP
    IF caller IS DISTINCT FROM ROW(i.key_mac, i.user_email) THEN
      caller := ROW(i.key_mac, i.user_email);
      IF i.key_mac IS NOT NULL THEN
        {{include:app_of_key.sql key_mac => decode(i.key_mac, 'hex')}} INTO identity;
        {{include:app_membership.sql merchant_id => p_merchant_id, identity_id => identity}} INTO member_of;
      ELSE
        {{include:user_of_address.sql user_email => i.user_email}} INTO identity;
        {{include:user_membership.sql merchant_id => p_merchant_id, identity_id => identity}} INTO member_of;
      END IF;
    END IF;
    judged := judged || ROW(i.kind, i.transaction_id, i.amount, i.currency, i.descriptor, i.reference,
      '/transactions/' || i.transaction_id || '/' || i.kind || 's', i.key, decode(i.fingerprint, 'hex'),
      {{include:access_verdict.sql identity_id => identity, is_found => i.transaction_id = ANY (present),
        is_allowed => member_of IS NOT NULL AND (merchant.claim ->> ('can' || initcap(i.kind)))::boolean}},
      identity, p_merchant_id, merchant.currency, merchant.pricing)::{{operation_item}};
  END LOOP;
  -- 2. Each transaction is locked as it is fetched.
  wanted := ARRAY(SELECT v.transaction_id FROM unnest(judged) v WHERE v.verdict = 'done');
  FOR t IN
    SELECT x.* FROM {{transactions}} x WHERE x.merchant_id = p_merchant_id AND x.id = ANY (wanted) ORDER BY x.id FOR UPDATE
  LOOP
    locked := locked || t;
  END LOOP;
  FOR i IN
    SELECT v.*, t::{{transactions}} AS transaction
    FROM (SELECT * FROM unnest(judged) WITH ORDINALITY i ORDER BY i.transaction_id) v
    LEFT JOIN unnest(locked) t ON t.id = v.transaction_id
  LOOP
    -- 3. Each operation is decided, in the order of the transactions.
    {{include:decide_operation.sql}}
  END LOOP;
  -- 4. The ledger, the amounts of the transactions, and the keys.
  IF cardinality(movements) > 0 THEN
    PERFORM FROM {{post}}(movements);
    FOREACH moment IN ARRAY movements LOOP
      UPDATE {{transactions}} x SET pending = moment.pending, captured = moment.captured, refunded = moment.refunded,
        voided = moment.voided, trail_length = moment.seq
        WHERE x.merchant_id = p_merchant_id AND x.id = moment.transaction_id;
    END LOOP;
    FOREACH first_use IN ARRAY keys LOOP
      INSERT INTO {{idempotency}} VALUES (p_merchant_id, first_use.identity_id, first_use.method, first_use.path,
        first_use.key, first_use.fingerprint, first_use.status, first_use.error_code, first_use.object_id,
        first_use.pending, first_use.captured, first_use.refunded, first_use.voided, first_use.disputed,
        first_use.trail_length, first_use.body, first_use.created);
    END LOOP;
  END IF;
  -- 5. A repeat shows its trail as it was: up to the entry of its first request.
  FOREACH result IN ARRAY results LOOP
    t := result.transaction; moment := result.moment;
    SELECT n.* INTO instrument FROM {{instruments}} n WHERE n.merchant_id = p_merchant_id AND n.id = t.instrument_id;
    SELECT {{include:trail_json.sql}} INTO trail FROM {{trail_entries}} e
      WHERE e.merchant_id = p_merchant_id AND e.transaction_id = t.id AND e.seq <= moment.seq;
    RETURN QUERY SELECT result.verdict, result.identity_id, result.possible, moment, t, instrument, trail;
  END LOOP;
END
$$;
