-- distribute: coordinator
-- Carries out captures, refunds and voids: one of them, or many on different transactions. p_operations: [{keyMac, userEmail,
-- kind, transactionId, amount, currency, descriptor, reference, key, fingerprint}, …], with digests in hexadecimal digits.
-- p_margin_bps: the margin of an exchange. p_rate_days: how old a rate may be for a live merchant.
--
-- Returns one row for each operation, in their order, with its own verdict: unauthorized, not-found or forbidden; replayed with
-- the transaction as it was then, or key-mismatch; currency-mismatch, limit-exceeded with the largest amount that is possible,
-- trail-full or rate-unavailable; done. moment has the amounts after the operation, transaction is the row before it. An
-- exception, such as a lock that was not granted in time, leaves nothing of the whole call.
--
-- Every answer and event of a transaction contains its whole trail, so a trail is bounded. Captures end at 200 entries, refunds
-- and voids at 300, so that captures leave room to refund and void. The login of the service chooses margin and amounts, so the
-- function checks both. (reference: Operations)
--
-- Steps: 1. judge the caller of each operation; 2. lock the transactions; 3. for each operation, answer a repeat, or compute
-- worth and fees and decide; 4. write at once what is done; 5. return the verdicts with the trails.
--
-- Lock order: the transactions by merchant and id, the balances by merchant, the keys. Each call takes them in this order, so
-- that two calls never wait for each other. A repeat waits for its transaction, and then sees the key of the first request.
CREATE OR REPLACE FUNCTION {{run_operations}}(p_operations json, p_margin_bps int, p_rate_days int)
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
  today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  -- Each operation with its caller, its merchant and the verdict on both.
  judged {{operation_item}}[];
  i record;
  t {{transactions}};
  -- The request that used the key of an operation first.
  first_use {{idempotency}};
  -- What one minor unit of the transaction's currency is worth in the merchant's, and by which rate.
  numerator numeric; denominator numeric; rate text; rate_date date;
  -- What earlier captures took at this rate, and what all earlier captures were worth in the merchant's currency.
  earlier_amount numeric; earlier_gross numeric;
  gross bigint; fee_flat bigint; fee_rate bigint;
  -- The kind, prices and currency that priced_flat was computed for.
  priced_for record := ROW(NULL::text, NULL::jsonb, NULL::text);
  priced_flat bigint;
  -- What is written in step 4, and what is returned, by the place of the operation in the request.
  moment {{movement}}; movements {{movement}}[] := '{}';
  result {{operation_result}}; results {{operation_result}}[] := '{}';
  keys {{idempotency}}[] := '{}';
BEGIN
  IF (p_margin_bps BETWEEN 0 AND 10000) IS NOT TRUE THEN
    RAISE EXCEPTION 'a margin is 0 to 10000 basis points' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- 1. Judge API key, transaction, membership and permission, in this order. The alias is read only when no merchant has the tag.
  SELECT array_agg(ROW(i.kind, i.transaction_id, i.amount, i.currency, i.descriptor, i.reference,
    '/transactions/' || i.transaction_id || '/' || i.kind || 's', i.key, decode(i.fingerprint, 'hex'),
    CASE
      WHEN c.identity_id IS NULL THEN 'unauthorized'
      WHEN m.id IS NULL THEN 'not-found'
      WHEN s.merchant_id IS NULL THEN 'forbidden'
      WHEN (m.claim ->> ('can' || initcap(i.kind)))::boolean THEN 'done'
      ELSE 'forbidden'
    END, c.identity_id, m.id, m.currency, m.pricing)::{{operation_item}} ORDER BY i.place) INTO judged
  FROM ROWS FROM (json_to_recordset(p_operations) AS (
    "keyMac" text, "userEmail" text, kind text, "transactionId" text, amount bigint, currency text, descriptor text,
    reference text, key text, fingerprint text
  )) WITH ORDINALITY AS i (
    key_mac, user_email, kind, transaction_id, amount, currency, descriptor, reference, key, fingerprint, place
  )
  LEFT JOIN LATERAL {{identify}}(decode(i.key_mac, 'hex'), i.user_email) c ON true
  LEFT JOIN LATERAL (
    SELECT m.id, m.currency, m.pricing, m.claim FROM {{merchants}} m
    JOIN {{transactions}} t ON t.merchant_id = m.id AND t.id = i.transaction_id
    WHERE m.tag = right(i.transaction_id, 8)
    UNION ALL
    SELECT m.id, m.currency, m.pricing, m.claim FROM {{merchants}} m
    JOIN {{id_aliases}} a ON a.merchant_id = m.id
    JOIN {{transactions}} t ON t.merchant_id = m.id AND t.id = i.transaction_id
    WHERE a.id = i.transaction_id
    LIMIT 1
  ) m ON true
  LEFT JOIN LATERAL {{membership}}(m.id, c.identity_id) s ON true;
  -- 2. Each transaction is locked as it is fetched: one statement reads and locks all of them.
  FOR i IN
    SELECT v.*, t AS transaction
    FROM (SELECT * FROM unnest(judged) WITH ORDINALITY i ORDER BY i.merchant_id, i.transaction_id) v
    LEFT JOIN LATERAL (
      SELECT * FROM {{transactions}} t
      WHERE t.merchant_id = v.merchant_id AND t.id = v.transaction_id AND v.verdict = 'done' FOR UPDATE
    ) t ON true
  LOOP
    -- 3. The verdict on the caller stands unless the operation is a repeat, or the amounts decide otherwise.
    result := ROW(i.verdict, i.identity_id, NULL, NULL, i.transaction);
    t := i.transaction;
    first_use := NULL;
    IF i.key IS NOT NULL AND i.verdict = 'done' THEN
      SELECT * INTO first_use FROM {{idempotency}} k
        WHERE k.merchant_id = i.merchant_id AND k.identity_id = i.identity_id AND k.method = 'POST'
          AND k.path = i.path AND k.key = i.key;
    END IF;
    -- The row of a key keeps the amounts as they were, so a repeat gets the same answer whatever has happened since.
    IF first_use.key IS NOT NULL THEN
      result.verdict := CASE WHEN first_use.fingerprint = i.fingerprint THEN 'replayed' ELSE 'key-mismatch' END;
      moment := NULL;
      moment.seq := first_use.trail_length;
      moment.pending := first_use.pending; moment.captured := first_use.captured;
      moment.refunded := first_use.refunded; moment.voided := first_use.voided; moment.disputed := first_use.disputed;
      result.moment := moment;
    ELSIF i.verdict = 'done' THEN
      -- The worth in the merchant's currency, and the fees. A capture is rounded together with the earlier ones, so that many
      -- small captures are worth, and cost, what one large capture does.
      gross := 0; fee_flat := 0; fee_rate := 0; rate := NULL; rate_date := NULL;
      IF i.kind = 'capture' THEN
        gross := i.amount;
        earlier_amount := 0; earlier_gross := 0;
        IF t.currency <> i.funding_currency THEN
          SELECT r.numerator, r.denominator, r.rate, r.rate_date INTO numerator, denominator, rate, rate_date
            FROM {{exchange_ratio}}(t.currency, i.funding_currency, today, p_margin_bps) r;
        END IF;
        IF t.captured > 0 THEN
          SELECT e.amount, e.gross INTO earlier_amount, earlier_gross FROM {{earlier_captures}}(t, rate, rate_date) e;
        END IF;
        IF t.currency <> i.funding_currency THEN
          gross := {{round_half_even}}((earlier_amount + i.amount) * numerator, denominator)
            - {{round_half_even}}(earlier_amount * numerator, denominator);
        END IF;
        fee_rate := {{round_half_even}}((earlier_gross + gross) * (i.pricing ->> 'rate')::numeric, 10000)
          - {{round_half_even}}(earlier_gross * (i.pricing ->> 'rate')::numeric, 10000);
      ELSIF i.kind = 'refund' THEN
        -- A refund takes back what the captures were worth, from where earlier refunds and lost disputes have ended.
        SELECT {{captured_value}}(c.amounts, c.grosses, t.refunded + t.lost + i.amount)
            - {{captured_value}}(c.amounts, c.grosses, t.refunded + t.lost) INTO gross
          FROM (
            SELECT n.amounts, n.grosses FROM {{net_captures}}(t.merchant_id, t.id, NULL, 0) n
          ) AS c (amounts, grosses);
      END IF;
      -- The flat fee is the same for many operations: it is computed when kind, prices or currency change.
      IF i.kind <> 'void' THEN
        IF priced_for IS DISTINCT FROM ROW(i.kind, i.pricing, i.funding_currency) THEN
          priced_for := ROW(i.kind, i.pricing, i.funding_currency);
          SELECT f.flat INTO priced_flat FROM {{operation_fee}}(i.kind, 0, i.pricing, i.funding_currency, today) f;
        END IF;
        fee_flat := priced_flat;
      END IF;
      -- The first reason counts. A NULL amount is out of bounds too. A test merchant's rate may be old.
      result.possible := CASE i.kind WHEN 'refund' THEN t.captured - t.refunded - t.disputed ELSE t.pending END;
      result.verdict := CASE
        WHEN i.currency <> t.currency THEN 'currency-mismatch'
        WHEN (i.amount BETWEEN 1 AND result.possible) IS NOT TRUE THEN 'limit-exceeded'
        WHEN t.trail_length >= CASE i.kind WHEN 'capture' THEN 200 ELSE 300 END THEN 'trail-full'
        WHEN gross IS NULL OR fee_flat IS NULL OR NOT t.test AND rate_date < today - p_rate_days
          THEN 'rate-unavailable'
        ELSE 'done'
      END;
    END IF;
    IF result.verdict = 'done' THEN
      -- The entry of the trail, with the amounts after it.
      moment := ROW(t.merchant_id, i.kind, t.test, i.amount, t.currency, gross, fee_flat, fee_rate, rate, rate_date,
        t.id, t.trail_length + 1, coalesce(i.descriptor, t.descriptor), i.reference, NULL, NULL, NULL,
        t.pending - CASE i.kind WHEN 'refund' THEN 0 ELSE i.amount END,
        t.captured + CASE i.kind WHEN 'capture' THEN i.amount ELSE 0 END,
        t.refunded + CASE i.kind WHEN 'refund' THEN i.amount ELSE 0 END,
        t.voided + CASE i.kind WHEN 'void' THEN i.amount ELSE 0 END,
        t.disputed);
      movements := movements || moment;
      result.moment := moment;
      IF i.key IS NOT NULL THEN
        keys := keys || ROW(t.merchant_id, i.identity_id, 'POST', i.path, i.key, i.fingerprint, 201, NULL, t.id,
          moment.pending, moment.captured, moment.refunded, moment.voided, moment.disputed, moment.seq, NULL,
          clock_timestamp())::{{idempotency}};
      END IF;
    END IF;
    results[i.ordinality] := result;
  END LOOP;
  -- 4. The ledger, the amounts of the transactions, and the keys.
  IF cardinality(movements) > 0 THEN
    PERFORM FROM {{post}}(movements);
    UPDATE {{transactions}} t SET pending = v.pending, captured = v.captured, refunded = v.refunded,
      voided = v.voided, trail_length = v.seq
      FROM unnest(movements) v WHERE t.merchant_id = v.merchant_id AND t.id = v.transaction_id;
    IF cardinality(keys) > 0 THEN INSERT INTO {{idempotency}} SELECT * FROM unnest(keys); END IF;
  END IF;
  -- 5. A repeat shows its trail as it was: up to the entry of its first request.
  RETURN QUERY SELECT r.verdict, r.identity_id, r.possible, r.moment, r.transaction, n, e.trail
    FROM unnest(results) WITH ORDINALITY r
    LEFT JOIN {{instruments}} n
      ON n.merchant_id = (r.transaction).merchant_id AND n.id = (r.transaction).instrument_id
    LEFT JOIN LATERAL {{trail_until}}(
      (r.transaction).merchant_id, (r.transaction).id, (r.moment).seq
    ) e ON true
    ORDER BY r.ordinality;
END
$$;
