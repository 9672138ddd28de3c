-- distribute: everywhere
-- Reverses rejected captures of a transaction, but leaves at least the refunded and disputed amount captured. Returns the rest,
-- which stays owed until the next call. (reference: What is taken back)
--
-- Lock order: the transaction, the balance. Every function that changes the money of a transaction locks the transaction before
-- the balance, so two functions cannot deadlock.
CREATE OR REPLACE FUNCTION {{reverse_rejected}}(p_merchant_id text, p_transaction_id text)
RETURNS bigint
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  held {{transactions}};
  rejected record;
  entry {{trail_entries}};
  part bigint;
  owed bigint := 0;
BEGIN
  SELECT t.* INTO held FROM {{transactions}} t
    WHERE t.merchant_id = p_merchant_id AND t.id = p_transaction_id FOR UPDATE;
  FOR rejected IN
    SELECT e.id, e.amount - back.amount AS rest, back.amount = 0 AS is_whole
    FROM {{acquirer_operations}} o
    JOIN {{trail_entries}} e ON e.merchant_id = p_merchant_id AND e.id = o.id
    CROSS JOIN LATERAL (
      SELECT -coalesce(sum(r.amount), 0)::bigint AS amount FROM {{trail_entries}} r
      WHERE r.merchant_id = p_merchant_id AND r.transaction_id = o.transaction_id AND r.kind = 'capture'
        AND r.amount < 0 AND {{reversed_entry}}(r.reference) = o.id
    ) back
    WHERE o.merchant_id = p_merchant_id AND o.transaction_id = p_transaction_id AND o.kind = 'capture'
      AND o.status IN ('rejected', 'unanswered') AND e.amount > back.amount
    ORDER BY e.seq
  LOOP
    part := least(rejected.rest, held.captured - held.refunded - held.disputed);
    IF part > 0 THEN
      SELECT e.* INTO STRICT entry FROM {{trail_entries}} e WHERE e.merchant_id = p_merchant_id AND e.id = rejected.id;
      held := {{correct}}(held, entry, -part,
        {{correction_gross}}(held, 'capture', rejected.id, part),
        CASE WHEN rejected.is_whole THEN -1 ELSE 0 END);
    END IF;
    owed := owed + rejected.rest - greatest(part, 0);
  END LOOP;
  RETURN owed;
END
$$;
