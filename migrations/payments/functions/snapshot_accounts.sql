-- distribute: p_merchant_id
-- Stores the sums of a merchant's accounts up to the end of the last UTC day that is over, and returns how many. The sum of an
-- account continues from its last snapshot; an account without entries since then keeps that one.
--
-- The function takes no date from its caller: a sum of a day to come would hide later entries from the check of settlements.
-- The day is over for the merchant, too: its last id is of a later day, and under the lock all entries with lower ids are there.
-- So no entry can come into the day any more, whatever the clock does. (reference: Accounts)
--
-- Lock order: the balance, which a second call for the merchant waits for.
CREATE OR REPLACE FUNCTION {{snapshot_accounts}}(p_merchant_id text)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
  last_id text;
  day date;
  next_id text;
  since_id text;
  added record;
  earlier numeric;
  made bigint := 0;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  SELECT b.last_id INTO STRICT last_id FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
  day := least(clock_timestamp() AT TIME ZONE 'UTC', {{created_at}}({{id_number}}(last_id)) AT TIME ZONE 'UTC')::date - 1;
  next_id := {{first_id}}((day + 1) AT TIME ZONE 'UTC');
  SELECT coalesce({{first_id}}((max(s.date) + 1) AT TIME ZONE 'UTC'), '') INTO since_id
    FROM {{account_snapshots}} s WHERE s.merchant_id = p_merchant_id AND s.date < day;
  FOR added IN
    SELECT e.account, e.currency, e.test, sum(e.amount) AS sum FROM {{entries}} e
    WHERE e.merchant_id = p_merchant_id AND e.journal_id >= since_id AND e.journal_id < next_id
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  LOOP
    SELECT s.sum INTO earlier FROM {{account_snapshots}} s
      WHERE s.merchant_id = p_merchant_id AND s.account = added.account AND s.currency = added.currency
        AND s.test = added.test AND s.date < day
      ORDER BY s.date DESC LIMIT 1;
    INSERT INTO {{account_snapshots}} (merchant_id, account, currency, test, date, sum)
      VALUES (p_merchant_id, added.account, added.currency, added.test, day, added.sum + coalesce(earlier, 0))
      -- A second call of the day finds the sum of the first.
      ON CONFLICT DO NOTHING;
    IF FOUND THEN made := made + 1; END IF;
  END LOOP;
  RETURN made;
END
$$;
