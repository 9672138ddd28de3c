-- distribute: everywhere
-- Captures that are in the balance but not due: younger than p_since, or without an answer of the acquirer. A capture of exactly
-- p_since is due. Ids contain their time, so the primary key finds the young lines.
--
-- A capture counts with the parts of it that were taken back, and never below 0. A capture that is worth less than its fee
-- has lowered the balance already, and must not set other money free. (reference: Available amount)
CREATE OR REPLACE FUNCTION {{not_yet_due}}(p_merchant_id text, p_since timestamptz)
RETURNS bigint
LANGUAGE plpgsql STABLE
AS $$
DECLARE
  due_id text := {{first_id}}(p_since + interval '1 millisecond');
  young bigint;
  taken_back bigint;
  unanswered bigint;
BEGIN
  SELECT coalesce(sum(l.balance), 0) INTO young FROM {{lines}} l
    WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture' AND l.amount > 0 AND l.balance > 0 AND l.id >= due_id;
  SELECT coalesce(sum(greatest(c.balance, 0) - greatest(c.balance + back.balance, 0)), 0) INTO taken_back
    FROM (
      SELECT {{reversed_entry}}(e.reference) AS id, sum(e.balance)::bigint AS balance FROM {{lines}} l
      JOIN {{trail_entries}} e
        ON e.merchant_id = p_merchant_id AND e.transaction_id = l.transaction_id AND e.line_id = l.id
      WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture' AND l.amount < 0 AND l.id >= due_id
        AND {{reversed_entry}}(e.reference) >= due_id
      GROUP BY 1
    ) back
    JOIN {{trail_entries}} c ON c.merchant_id = p_merchant_id AND c.id = back.id;
  SELECT coalesce(sum(e.balance), 0) INTO unanswered FROM {{acquirer_operations}} o
    JOIN {{trail_entries}} e ON e.merchant_id = p_merchant_id AND e.id = o.id
    WHERE o.merchant_id = p_merchant_id AND o.status = 'open' AND o.kind = 'capture' AND e.balance > 0
      AND e.line_id < due_id;
  RETURN young - taken_back + unanswered;
END
$$;
