-- distribute: everywhere
-- Books an operation again that the acquirer accepted after payments had reversed it. p_held: the transaction, which the caller
-- has locked. p_entry: the trail entry of the operation. Returns false if the transaction no longer has the amount; true also if
-- nothing was reversed. (reference: Accepted after the bound)
--
-- Lock order: the transaction, which the caller has locked, the balance. Every function that changes the money of a transaction
-- locks the transaction before the balance, so two functions cannot deadlock.
CREATE OR REPLACE FUNCTION {{book_again}}(p_held {{transactions}}, p_entry {{trail_entries}})
RETURNS boolean
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  back record;
  gross bigint := 0;
BEGIN
  SELECT -coalesce(sum(r.amount), 0)::bigint AS amount, -coalesce(sum(r.gross), 0)::bigint AS gross,
      CASE WHEN count(*) > 0 THEN 1 ELSE 0 END AS fees INTO back
    FROM {{trail_entries}} r
    WHERE r.merchant_id = p_held.merchant_id AND r.transaction_id = p_held.id AND r.amount < 0
      AND {{reversed_entry}}(r.reference) = p_entry.id;
  IF back.amount = 0 THEN RETURN true; END IF;
  IF back.amount > (CASE p_entry.kind WHEN 'refund' THEN p_held.captured - p_held.refunded - p_held.disputed
      ELSE p_held.pending END) THEN
    RETURN false;
  END IF;
  IF p_entry.kind = 'capture' THEN gross := back.gross; END IF;
  IF p_entry.kind = 'refund' THEN
    gross := {{reversal_gross}}(
      p_held.merchant_id, p_held.id, p_held.refunded + p_held.lost, back.amount
    );
  END IF;
  PERFORM {{correct}}(p_held, p_entry, back.amount, gross, back.fees);
  RETURN true;
END
$$;
