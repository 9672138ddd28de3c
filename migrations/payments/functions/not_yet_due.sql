-- distribute: everywhere
-- Returns the sum of the captures in the balance that are not due: younger than p_since, or without an answer of the acquirer. A
-- capture of exactly p_since is due. Ids contain their time, so the primary key finds the young lines.
--
-- Corrections reduce the worth of a capture, but never below 0. A capture that is worth less than its fee has already lowered the
-- balance, and must not release other money. Lines from before the merchant moved to the euro count at the fixed rate. The result
-- is at most the largest bigint. (reference: Available amount)
CREATE OR REPLACE FUNCTION {{not_yet_due}}(p_merchant_id text, p_since timestamptz)
RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  due_id text := {{first_id}}(p_since + interval '1 millisecond');
  -- A sum may exceed bigint, because payouts may have emptied the balance in between.
  young numeric;
  taken_back numeric;
  unanswered numeric;
  former_currency text;
  opened_id text;
BEGIN
  SELECT o.former_currency, o.journal_id INTO former_currency, opened_id FROM {{currency_opened}}(p_merchant_id) o;
  SELECT coalesce(sum({{include:line_worth.sql line => l}}), 0) INTO young FROM {{lines}} l
    WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture' AND l.amount > 0 AND l.balance > 0 AND l.id >= due_id;
  SELECT coalesce(sum(greatest(c.balance, 0) - greatest(c.balance + back.balance, 0)), 0) INTO taken_back
    FROM (
      SELECT {{reversed_entry}}(e.reference) AS id, sum({{include:line_worth.sql line => l}}) AS balance FROM {{lines}} l
      JOIN {{trail_entries}} e
        ON e.merchant_id = p_merchant_id AND e.transaction_id = l.transaction_id AND e.line_id = l.id
      WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture' AND l.amount < 0 AND l.id >= due_id
        AND {{reversed_entry}}(e.reference) >= due_id
      GROUP BY 1
    ) back
    JOIN (
      SELECT e.id, {{include:line_worth.sql line => l}} AS balance FROM {{trail_entries}} e
      JOIN {{lines}} l ON l.merchant_id = p_merchant_id AND l.id = e.line_id
      WHERE e.merchant_id = p_merchant_id
    ) c ON c.id = back.id;
  SELECT coalesce(sum({{include:line_worth.sql line => l}}), 0) INTO unanswered FROM {{acquirer_operations}} o
    JOIN {{trail_entries}} e ON e.merchant_id = p_merchant_id AND e.id = o.id
    JOIN {{lines}} l ON l.merchant_id = p_merchant_id AND l.id = e.line_id
    WHERE o.merchant_id = p_merchant_id AND o.status = 'open' AND o.kind = 'capture' AND e.balance > 0
      AND e.line_id < due_id;
  RETURN least(young - taken_back + unanswered, 9223372036854775807);
END
$$;
