-- distribute: p_merchant_id
-- Carries out captures, refunds and voids on transactions of one merchant, as run_operations does for transactions of any: with the
-- same verdicts, locks and rows. A distributed database is called with this one, because all statements of it run on the node of
-- the merchant. p_merchant_id: '' when the ids belong to no merchant.
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
  present text[];
  locked {{transactions}}[] := '{}';
BEGIN
  {{include:check_operation_terms.sql}}
  -- 1. Judge API key, transaction, membership and permission, in this order.
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  present := ARRAY(
    SELECT x.id FROM {{transactions}} x WHERE x.merchant_id = p_merchant_id AND x.id = ANY (ARRAY(
      SELECT asked.id ->> 'transactionId' FROM json_array_elements(p_operations) AS asked (id)
    ))
  );
  SELECT array_agg(ROW(i.kind, i.transaction_id, i.amount, i.currency, i.descriptor, i.reference,
    '/transactions/' || i.transaction_id || '/' || i.kind || 's', i.key, decode(i.fingerprint, 'hex'),
    CASE
      WHEN c.identity_id IS NULL THEN 'unauthorized'
      WHEN i.transaction_id <> ALL (present) THEN 'not-found'
      WHEN s.merchant_id IS NULL THEN 'forbidden'
      WHEN (merchant.claim ->> ('can' || initcap(i.kind)))::boolean THEN 'done'
      ELSE 'forbidden'
    END, c.identity_id, p_merchant_id, merchant.currency, merchant.pricing)::{{operation_item}} ORDER BY i.place) INTO judged
  {{include:asked_operations.sql}}
  LEFT JOIN LATERAL (
    SELECT a.merchant_id FROM {{merchant_apps}} a
    WHERE a.merchant_id = p_merchant_id AND a.app_id = c.identity_id AND NOT a.pending
    UNION ALL
    SELECT u.merchant_id FROM {{merchant_users}} u
    WHERE u.merchant_id = p_merchant_id AND u.user_id = c.identity_id AND NOT u.pending
  ) s ON true;
  -- 2. Each transaction is locked as it is fetched.
  FOR t IN
    SELECT x.* FROM {{transactions}} x
    WHERE x.merchant_id = p_merchant_id AND x.id = ANY (ARRAY(
      SELECT v.transaction_id FROM unnest(judged) v WHERE v.verdict = 'done'
    ))
    ORDER BY x.id FOR UPDATE
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
    UPDATE {{transactions}} t SET pending = v.pending, captured = v.captured, refunded = v.refunded,
      voided = v.voided, trail_length = v.seq
      FROM unnest(movements) v WHERE t.merchant_id = p_merchant_id AND t.id = v.transaction_id;
    IF cardinality(keys) > 0 THEN INSERT INTO {{idempotency}} SELECT * FROM unnest(keys); END IF;
  END IF;
  -- 5. A repeat shows its trail as it was: up to the entry of its first request.
  RETURN QUERY SELECT r.verdict, r.identity_id, r.possible, r.moment, r.transaction, n, e.trail
    FROM unnest(results) WITH ORDINALITY r
    LEFT JOIN {{instruments}} n ON n.merchant_id = p_merchant_id AND n.id = (r.transaction).instrument_id
    LEFT JOIN LATERAL (
      SELECT {{include:trail_json.sql}} AS trail FROM {{trail_entries}} e
      WHERE e.merchant_id = p_merchant_id AND e.transaction_id = (r.transaction).id AND e.seq <= (r.moment).seq
    ) e ON true
    ORDER BY r.ordinality;
END
$$;
