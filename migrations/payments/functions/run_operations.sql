-- distribute: coordinator
-- Executes captures, refunds and voids: one operation, or many on different transactions. p_operations: [{keyMac, userEmail,
-- kind, transactionId, amount, currency, descriptor, reference, key, fingerprint}, ...], with digests in hexadecimal digits.
-- p_margin_bps: the margin of an exchange. p_rate_age_days_max: the maximum age of a rate for a live merchant.
--
-- Returns one row with a verdict for each operation, in their order: unauthorized, not-found or forbidden; replayed with the
-- transaction as it was then, or key-mismatch; currency-mismatch, limit-exceeded with the largest possible amount, trail-full or
-- rate-unavailable; done. movement has the amounts after the operation, transaction is the row before it. An exception, such as a
-- lock that was not granted in time, rolls back the whole call.
--
-- Every answer and event of a transaction contains its whole trail, so the length of a trail is limited. Captures end at 200
-- entries, refunds and voids at 300, so that refunds and voids are still possible after the last capture. The database login of
-- the service chooses the margin and the amounts, so the function checks both. (reference: Operations)
--
-- Steps: 1. check the caller of each operation; 2. lock the transactions; 3. decide each operation by decide_operation; 4. write
-- all accepted operations together; 5. return the verdicts with the trails.
--
-- Lock order: the transactions by merchant and id, the balances by merchant, the keys. Each call takes locks in this order, so
-- two calls cannot deadlock. An idempotent request waits for its transaction, and then finds the key of the first request.
CREATE OR REPLACE FUNCTION {{run_operations}}(p_operations json, p_margin_bps int, p_rate_age_days_max int)
RETURNS TABLE (
  verdict text, identity_id text, possible bigint, movement {{movement}}, transaction {{transactions}},
  instrument {{instruments}}, trail json
)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_column
DECLARE
  {{include:operation_variables.sql}}
BEGIN
  {{include:check_operation_terms.sql}}
  -- 1. Check API key, transaction, membership and permission, in this order. The alias is read only if no merchant has the tag.
  SELECT array_agg({{include:judged_operation.sql operation => i, identity_id => c.identity_id,
    member_of => s.merchant_id, is_found => m.id IS NOT NULL, merchant => m, merchant_id => m.id}} ORDER BY i.place)
    INTO judged
  {{include:asked_operations.sql}}
  LEFT JOIN LATERAL (
    {{include:caller_identity.sql key_mac => decode(i.key_mac, 'hex'), user_email => i.user_email}}
  ) c ON true
  LEFT JOIN LATERAL (
    SELECT m.id, m.pricing, m.claim FROM ({{include:owners.sql id => i.transaction_id}}) o
    JOIN {{merchants}} m ON m.id = o.merchant_id
    JOIN {{transactions}} t ON t.merchant_id = m.id AND t.id = i.transaction_id
    LIMIT 1
  ) m ON true
  LEFT JOIN LATERAL ({{include:membership.sql merchant_id => m.id, identity_id => c.identity_id}}) s ON true;
  -- 2. One statement reads and locks all transactions.
  FOR each IN
    SELECT v.place, t AS transaction
    FROM (
      SELECT i.merchant_id, i.transaction_id, i.verdict, i.ordinality AS place
      FROM unnest(judged) WITH ORDINALITY i ORDER BY i.merchant_id, i.transaction_id
    ) v
    LEFT JOIN LATERAL (
      SELECT * FROM {{transactions}} t
      WHERE t.merchant_id = v.merchant_id AND t.id = v.transaction_id AND v.verdict = 'done' FOR UPDATE
    ) t ON true
  LOOP
    -- 3. Decide each operation, in the order of the merchants.
    {{include:decide_next.sql}}
  END LOOP;
  -- 4. Write the ledger, the amounts of the transactions, and the keys.
  IF cardinality(movements) > 0 THEN
    PERFORM FROM {{post}}(movements);
    UPDATE {{transactions}} t SET pending = v.pending, captured = v.captured, refunded = v.refunded,
      voided = v.voided, trail_length = v.seq
      FROM unnest(movements) v WHERE t.merchant_id = v.merchant_id AND t.id = v.transaction_id;
    IF cardinality(keys) > 0 THEN INSERT INTO {{idempotency}} SELECT * FROM unnest(keys); END IF;
  END IF;
  -- 5. An idempotent request returns its trail as it was then: up to the entry of its first request.
  RETURN QUERY SELECT r.verdict, r.identity_id, r.possible, r.movement, r.transaction, n, e.trail
    FROM unnest(results) WITH ORDINALITY r
    LEFT JOIN {{instruments}} n
      ON n.merchant_id = (r.transaction).merchant_id AND n.id = (r.transaction).instrument_id
    LEFT JOIN LATERAL (
      SELECT {{include:trail_json.sql}} AS trail FROM {{trail_entries}} e
      WHERE e.merchant_id = (r.transaction).merchant_id AND e.transaction_id = (r.transaction).id
        AND e.seq <= (r.movement).seq
    ) e ON true
    ORDER BY r.ordinality;
END
$$;
