-- distribute: everywhere
-- Returns the amount that a merchant's balance would lose if all open disputes were lost, including disputes of unknown
-- transactions, which wait as exceptions. An exception without a worth holds back the whole balance. The captures are read
-- together, because a merchant may have many disputes. Disputes from before a move to the euro count as in movement_in_euro.
-- (reference: Available amount)
CREATE OR REPLACE FUNCTION {{dispute_reserve}}(p_merchant_id text)
RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  ids text[];
  reversed bigint[];
  open bigint[];
  captured bigint[];
  -- The funding currency of each transaction from before the merchant moved; NULL for other transactions.
  former text[];
  own text;
  beyond bigint;
  unknown record;
BEGIN
  SELECT b.currency INTO own FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id;
  SELECT array_agg(t.id), array_agg(t.refunded + t.lost), array_agg(t.disputed - t.lost), array_agg(t.captured),
      array_agg(nullif(t.funding_currency, own)) INTO ids, reversed, open, captured, former
    FROM {{transactions}} t
    WHERE t.merchant_id = p_merchant_id AND t.id IN (
      SELECT d.transaction_id FROM {{disputes}} d WHERE d.merchant_id = p_merchant_id AND d.status = 'open'
    );
  SELECT coalesce(sum(CASE WHEN t.funding_currency <> own THEN {{to_euro}}(d.excess_gross, t.funding_currency)
      ELSE d.excess_gross END), 0) INTO beyond
    FROM {{disputes}} d JOIN {{transactions}} t ON t.merchant_id = p_merchant_id AND t.id = d.transaction_id
    WHERE d.merchant_id = p_merchant_id AND d.status = 'open' AND d.excess_gross > 0;
  SELECT coalesce(sum(x.reserved), 0)::bigint AS reserved, coalesce(bool_or(x.reserved IS NULL), false) AS is_without_worth
    INTO unknown FROM {{acquirer_exceptions}} x
    WHERE x.merchant_id = p_merchant_id AND x.resolved IS NULL;
  IF unknown.is_without_worth THEN
    SELECT greatest(b.balance, 0) INTO unknown.reserved FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id;
  END IF;
  RETURN beyond + unknown.reserved + (
    SELECT coalesce(sum(CASE WHEN v.former IS NULL THEN v.before - v.after
      ELSE {{to_euro}}(v.before, v.former) - {{to_euro}}(v.after, v.former) END), 0)
    FROM (
      SELECT t.former, {{captured_value}}(c.amounts, c.grosses, t.captured)
          - {{captured_value}}(c.amounts, c.grosses, t.reversed) AS before,
        {{captured_value}}(c.amounts, c.grosses, t.captured)
          - {{captured_value}}(c.amounts, c.grosses, t.reversed + t.open) AS after
      FROM unnest(ids, reversed, open, captured, former) AS t (id, reversed, open, captured, former)
      JOIN {{net_captures}}(p_merchant_id, ids, NULL, 0) c ON c.transaction_id = t.id
    ) v
  );
END
$$;
