-- distribute: p_merchant_id
-- Stores the acquirer's answer to an operation. p_id: the id of the trail entry. p_outcome: accepted, rejected, or unanswered for
-- too long. p_reason: the acquirer's text. A rejected operation has not happened, so the function takes it back immediately,
-- under the lock of the transaction.
--
-- Verdict:
--   done: the outcome is stored.
--   repeated: the outcome was already known.
--   conflict: the outcome contradicts a known outcome, or can no longer be booked. Nothing changes.
--
-- owed: the amount of rejected captures that is still to be taken back, in the transaction's currency.
--
-- Raises an error if the operation was never handed over, because it then has no row. Otherwise a forged job for an entry that
-- books an operation again could make the acquirer refund twice. (reference: States of an operation)
--
-- Lock order: the transaction, its operation, the balance. Every function that changes the money of a transaction locks the
-- transaction first, which prevents deadlocks. Under this lock nobody else changes the operation.
CREATE OR REPLACE FUNCTION {{close_operation}}(p_merchant_id text, p_id text, p_outcome text, p_reason text)
RETURNS TABLE (verdict text, status text, owed bigint)
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
#variable_conflict use_variable
DECLARE
  entry {{trail_entries}};
  held {{transactions}};
  ids record;
  moment timestamptz;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  IF coalesce(p_outcome, '') NOT IN ('accepted', 'rejected', 'unanswered') THEN
    RAISE EXCEPTION '% is not an outcome', p_outcome USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT e.* INTO STRICT entry FROM {{trail_entries}} e WHERE e.merchant_id = p_merchant_id AND e.id = p_id;
  SELECT t.* INTO STRICT held FROM {{transactions}} t
    WHERE t.merchant_id = p_merchant_id AND t.id = entry.transaction_id FOR UPDATE;
  -- STRICT raises an error without a row: the acquirer never got this operation, so it cannot have answered.
  SELECT o.status INTO STRICT status FROM {{acquirer_operations}} o
    WHERE o.merchant_id = p_merchant_id AND o.id = p_id FOR UPDATE;
  verdict := CASE
    WHEN status = p_outcome OR status <> 'open' AND p_outcome = 'unanswered' THEN 'repeated'
    WHEN status IN ('accepted', 'rejected') THEN 'conflict'
    WHEN status = 'unanswered' AND p_outcome = 'accepted' AND NOT {{book_again}}(held, entry)
      THEN 'conflict'
    ELSE 'done'
  END;
  owed := 0;
  IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
  PERFORM {{expect_recorded}}(p_merchant_id, 'acquirer_operations', ARRAY[p_id]);
  moment := date_trunc('milliseconds', clock_timestamp());
  UPDATE {{acquirer_operations}} o
    SET status = p_outcome, reason = p_reason, answered = moment
    WHERE o.merchant_id = p_merchant_id AND o.id = p_id;
  PERFORM {{record_states}}(p_merchant_id, 'acquirer_operations', ARRAY[p_id]);
  IF status = 'open' AND p_outcome <> 'accepted' THEN
    IF entry.kind <> 'capture' THEN
      PERFORM {{correct}}(held, entry, -entry.amount,
        {{correction_gross}}(held, entry.kind, p_id, entry.amount), -1);
    END IF;
    ids := {{take_ids}}(p_merchant_id, 1);
    PERFORM {{enqueue}}(p_merchant_id, {{id_at}}(ids.first, ids.tag), 'rejection_mail',
      jsonb_build_object('operationId', p_id));
  END IF;
  status := p_outcome;
  owed := {{reverse_rejected}}(p_merchant_id, held.id);
  RETURN NEXT;
END
$$;
