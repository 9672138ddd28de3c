-- Judges and posts captures, refunds and voids, one or many. p_items: [{keyMac, person, operation, id, amount, currency,
-- descriptor, reference, key, fingerprint}, …]; digests in hexadecimal digits. p_margin_bps: the margin of an exchange.
-- p_rate_days: how old a rate may be for a live merchant.
--
-- Returns one row an item, in their order, each with a verdict of its own: unauthorized, not-found or forbidden; replayed with
-- the transaction as it was then, or key-mismatch; currency-mismatch, limit-exceeded with what would be possible, trail-full or
-- rate-unavailable; done. moment holds the amounts after the movement, transaction the row before it. An exception, also a lock
-- that is not had in time, leaves nothing of the whole call.
--
-- Every answer and event of a transaction holds its whole trail, so a trail has an end: 200 entries for captures, and beyond them
-- room to refund and void. The login of the service chooses the margin and the amounts, so both are bounded here.
-- (reference: Operations)
CREATE OR REPLACE FUNCTION {{move_many}}(p_items json, p_margin_bps int, p_rate_days int)
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
  items {{move_item}}[];
  i record;
  t {{transactions}};
  used {{idempotency}};
  gross bigint; fee_flat bigint; fee_rate bigint; rate text; rate_date date;
  priced_for record := ROW(NULL::text, NULL::jsonb, NULL::text);
  priced_flat bigint;
  moment {{movement}}; movements {{movement}}[] := '{}';
  result {{move_result}}; results {{move_result}}[] := '{}';
  keys {{idempotency}}[] := '{}';
BEGIN
  IF (p_margin_bps BETWEEN 0 AND 10000) IS NOT TRUE THEN
    RAISE EXCEPTION 'a margin is 0 to 10000 basis points' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- Key, transaction, membership and claim of each item, in this order. The alias is looked for only when the tag fails.
  SELECT array_agg(ROW(i.operation, i.id, i.amount, i.currency, i.descriptor, i.reference,
    '/transactions/' || i.id || '/' || i.operation || 's', i.key, decode(i.fingerprint, 'hex'),
    CASE
      WHEN c.identity_id IS NULL THEN 'unauthorized'
      WHEN m.id IS NULL THEN 'not-found'
      WHEN s.merchant_id IS NULL THEN 'forbidden'
      WHEN (m.claim ->> ('can' || initcap(i.operation)))::boolean THEN 'done'
      ELSE 'forbidden'
    END, c.identity_id, m.id, m.currency, m.pricing)::{{move_item}} ORDER BY i.place) INTO items
  FROM ROWS FROM (json_to_recordset(p_items) AS (
    "keyMac" text, person text, id text, operation text, amount bigint, currency text, descriptor text,
    reference text, key text, fingerprint text
  )) WITH ORDINALITY AS i (
    key_mac, person, id, operation, amount, currency, descriptor, reference, key, fingerprint, place
  )
  LEFT JOIN LATERAL {{identify}}(decode(i.key_mac, 'hex'), i.person) c ON true
  LEFT JOIN LATERAL (
    SELECT m.id, m.currency, m.pricing, m.claim FROM {{merchants}} m
    JOIN {{transactions}} t ON t.merchant_id = m.id AND t.id = i.id
    WHERE m.tag = right(i.id, 8)
    UNION ALL
    SELECT m.id, m.currency, m.pricing, m.claim FROM {{merchants}} m
    JOIN {{id_aliases}} a ON a.merchant_id = m.id
    JOIN {{transactions}} t ON t.merchant_id = m.id AND t.id = i.id
    WHERE a.id = i.id
    LIMIT 1
  ) m ON true
  LEFT JOIN LATERAL {{membership}}(m.id, c.identity_id) s ON true;
  -- Each item beside its transaction, which is locked as it is fetched, in one order for all calls.
  FOR i IN
    SELECT v.*, t AS transaction
    FROM (SELECT * FROM unnest(items) WITH ORDINALITY i ORDER BY i.merchant_id, i.id) v
    LEFT JOIN LATERAL (
      SELECT * FROM {{transactions}} t
      WHERE t.merchant_id = v.merchant_id AND t.id = v.id AND v.verdict = 'done' FOR UPDATE
    ) t ON true
  LOOP
    result := ROW(i.verdict, i.identity_id, NULL, NULL, i.transaction);
    t := i.transaction;
    used := NULL;
    IF i.key IS NOT NULL AND i.verdict = 'done' THEN
      SELECT * INTO used FROM {{idempotency}} k
        WHERE k.merchant_id = i.merchant_id AND k.identity_id = i.identity_id AND k.method = 'POST'
          AND k.path = i.path AND k.key = i.key;
    END IF;
    -- A replay tells the transaction as it was then.
    IF used.key IS NOT NULL THEN
      result.verdict := CASE WHEN used.fingerprint = i.fingerprint THEN 'replayed' ELSE 'key-mismatch' END;
      moment := NULL;
      moment.seq := used.trail_length;
      moment.pending := used.pending; moment.captured := used.captured; moment.refunded := used.refunded;
      moment.voided := used.voided; moment.disputed := used.disputed;
      result.moment := moment;
    ELSIF i.verdict = 'done' THEN
      -- What the movement is worth in the merchant's currency, and its fees. A flat fee is the same for many items.
      gross := 0; fee_flat := 0; fee_rate := 0; rate := NULL; rate_date := NULL;
      IF i.operation = 'capture' THEN
        gross := i.amount;
        IF t.currency <> i.own THEN
          SELECT x.amount, x.rate, x.rate_date INTO gross, rate, rate_date
            FROM {{exchange}}(i.amount, t.currency, i.own, today, p_margin_bps) x;
        END IF;
        fee_rate := {{round_half_even}}(gross * (i.pricing ->> 'rate')::numeric, 10000);
        IF t.captured > 0 THEN
          SELECT n.gross, n.fee_rate, n.rate, n.rate_date INTO gross, fee_rate, rate, rate_date
            FROM {{next_capture}}(t, i.amount, i.own, today, p_margin_bps, (i.pricing ->> 'rate')::numeric) n;
        END IF;
      ELSIF i.operation = 'refund' THEN
        SELECT {{captured_value}}(c.amounts, c.grosses, t.refunded + t.lost + i.amount)
            - {{captured_value}}(c.amounts, c.grosses, t.refunded + t.lost) INTO gross
          FROM (
            SELECT n.amounts, n.grosses FROM {{net_captures}}(t.merchant_id, t.id, NULL, 0) n
          ) AS c (amounts, grosses);
      END IF;
      IF i.operation <> 'void' THEN
        IF priced_for IS DISTINCT FROM ROW(i.operation, i.pricing, i.own) THEN
          priced_for := ROW(i.operation, i.pricing, i.own);
          SELECT f.flat INTO priced_flat FROM {{operation_fee}}(i.operation, 0, i.pricing, i.own, today) f;
        END IF;
        fee_flat := priced_flat;
      END IF;
      result.possible := CASE i.operation WHEN 'refund' THEN t.captured - t.refunded - t.disputed ELSE t.pending END;
      result.verdict := CASE
        WHEN i.currency <> t.currency THEN 'currency-mismatch'
        WHEN (i.amount BETWEEN 1 AND result.possible) IS NOT TRUE THEN 'limit-exceeded'
        WHEN t.trail_length >= CASE i.operation WHEN 'capture' THEN 200 ELSE 300 END THEN 'trail-full'
        WHEN gross IS NULL OR fee_flat IS NULL OR NOT t.test AND rate_date < today - p_rate_days
          THEN 'rate-unavailable'
        ELSE 'done'
      END;
    END IF;
    IF result.verdict = 'done' THEN
      moment := ROW(t.merchant_id, i.operation, t.test, i.amount, t.currency, gross, fee_flat, fee_rate, rate, rate_date,
        t.id, t.trail_length + 1, coalesce(i.descriptor, t.descriptor), i.reference, NULL, NULL, NULL,
        t.pending - CASE i.operation WHEN 'refund' THEN 0 ELSE i.amount END,
        t.captured + CASE i.operation WHEN 'capture' THEN i.amount ELSE 0 END,
        t.refunded + CASE i.operation WHEN 'refund' THEN i.amount ELSE 0 END,
        t.voided + CASE i.operation WHEN 'void' THEN i.amount ELSE 0 END,
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
  IF cardinality(movements) > 0 THEN
    PERFORM FROM {{post}}(movements);
    UPDATE {{transactions}} t SET pending = v.pending, captured = v.captured, refunded = v.refunded,
      voided = v.voided, trail_length = v.seq
      FROM unnest(movements) v WHERE t.merchant_id = v.merchant_id AND t.id = v.transaction_id;
    IF cardinality(keys) > 0 THEN INSERT INTO {{idempotency}} SELECT * FROM unnest(keys); END IF;
  END IF;
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
