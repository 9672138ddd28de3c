-- distribute: coordinator
-- Marks at most p_max waiting live payouts as exported, and returns them by merchant and id. p_ids: the payouts that may be
-- exported; NULL for all. Only one of two concurrent calls returns a payout: the second waits for the rows, and skips payouts
-- that are exported by then.
--
-- Lock order: the merchants by id; of each, its payouts by id, then its balance. close_payout also locks a payout before its
-- balance, which prevents deadlocks. A separate loop locks all payouts of a merchant first: PL/pgSQL reads the rows of a loop in
-- portions, so a single loop would lock the balance before the payouts of the next portion. The balance is locked before the
-- merchant is compared with its record: a change of the merchant holds this lock until its record, which may be on another
-- server, is committed.
CREATE OR REPLACE FUNCTION {{export_waiting_payouts}}(p_max integer, p_ids text[] DEFAULT NULL)
RETURNS SETOF {{payouts}}
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  merchant text;
  payout {{payouts}};
  waiting {{payouts}}[];
  exported integer := 0;
BEGIN
  FOR merchant IN
    SELECT DISTINCT p.merchant_id FROM {{payouts}} p
      WHERE NOT p.test AND p.status = 'created' AND (p_ids IS NULL OR p.id = ANY (p_ids)) ORDER BY 1
  LOOP
    PERFORM {{lock_tenant}}(merchant);
    waiting := '{}';
    FOR payout IN
      SELECT p.* FROM {{payouts}} p WHERE p.merchant_id = merchant AND NOT p.test AND p.status = 'created'
        AND (p_ids IS NULL OR p.id = ANY (p_ids))
      ORDER BY p.id FOR UPDATE
    LOOP
      waiting := waiting || payout;
      EXIT WHEN exported + cardinality(waiting) >= p_max;
    END LOOP;
    PERFORM 1 FROM {{merchant_balances}} b WHERE b.merchant_id = merchant FOR UPDATE;
    FOREACH payout IN ARRAY waiting LOOP
      PERFORM {{expect_recorded}}(merchant, 'payouts', ARRAY[payout.id]);
      PERFORM {{expect_recorded}}(merchant, 'merchants', ARRAY[merchant]);
      UPDATE {{payouts}} p SET status = 'exported' WHERE p.merchant_id = merchant AND p.id = payout.id;
      PERFORM {{record_states}}(merchant, 'payouts', ARRAY[payout.id]);
      payout.status := 'exported';
      RETURN NEXT payout;
    END LOOP;
    exported := exported + cardinality(waiting);
    IF exported >= p_max THEN
      RETURN;
    END IF;
  END LOOP;
END
$$;
