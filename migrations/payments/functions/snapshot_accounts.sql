-- distribute: p_merchant_id
-- Stores the sums of a merchant's accounts up to the end of the last complete UTC day, and returns how many sums it stored. Each
-- sum continues from the last snapshot of the account. An account without new entries gets no new snapshot.
--
-- The caller cannot choose the date: a sum for a future day would hide later entries from the check of settlements. The day is
-- also complete for the merchant: its last id is of a later day, and under the lock all entries with lower ids exist. So no entry
-- can be added to the day, even if the clock goes back. (reference: Accounts)
--
-- Lock order: the balance. A second call for the merchant waits for it.
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
      -- A second call on the same day finds the sum of the first call.
      ON CONFLICT DO NOTHING;
    IF FOUND THEN made := made + 1; END IF;
  END LOOP;
  RETURN made;
END
$$;
