-- The decision on the operation `i`, with the row of its transaction, locked, or NULL.
    -- The verdict on the caller stands unless the operation is a repeat, or the amounts decide otherwise.
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
          -- A capture that the acquirer has rejected does not count, not even while a part of it is still owed: its fee was given
          -- back. (reference: When a capture is converted)
          SELECT coalesce(sum(c.amount) FILTER (
              WHERE c.at_rate IS NOT DISTINCT FROM rate AND c.of_date IS NOT DISTINCT FROM rate_date
            ), 0), coalesce(sum(c.gross), 0) INTO earlier_amount, earlier_gross
          FROM (
            SELECT max(e.amount) AS amount, max(e.gross) AS gross, max(e.rate) AS at_rate, max(e.rate_date) AS of_date
            FROM {{trail_entries}} e
            WHERE e.merchant_id = t.merchant_id AND e.transaction_id = t.id AND e.kind = 'capture'
            GROUP BY CASE WHEN e.amount < 0 THEN {{reversed_entry}}(e.reference) ELSE e.id END
            HAVING min(e.amount) > 0
          ) c;
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
