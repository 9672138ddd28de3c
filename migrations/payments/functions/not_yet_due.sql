-- distribute: everywhere
-- Captures that are in the balance but not due: younger than p_since, or without an answer of the acquirer. Captures that were
-- taken back do not count. A capture of exactly p_since is due. Ids contain their time, so the primary key finds the young
-- lines. (reference: Available amount)
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
    WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture' AND l.amount > 0 AND l.id >= due_id;
  SELECT coalesce(sum(e.balance), 0) INTO taken_back FROM {{lines}} l
    JOIN {{trail_entries}} e
      ON e.merchant_id = p_merchant_id AND e.transaction_id = l.transaction_id AND e.line_id = l.id
    WHERE l.merchant_id = p_merchant_id AND l.kind = 'capture' AND l.amount < 0 AND l.id >= due_id
      AND {{reversed_entry}}(e.reference) >= due_id;
  SELECT coalesce(sum(e.balance), 0) INTO unanswered FROM {{acquirer_operations}} o
    JOIN {{trail_entries}} e ON e.merchant_id = p_merchant_id AND e.id = o.id
    WHERE o.merchant_id = p_merchant_id AND o.status = 'open' AND o.kind = 'capture' AND e.line_id < due_id;
  RETURN young + taken_back + unanswered;
END
$$;
