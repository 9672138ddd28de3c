-- distribute: p_merchant_id
-- Stores the sums of a merchant's accounts up to the end of a past UTC day, and returns how many. The sum of an account
-- continues from its last snapshot; an account without entries since then keeps that one.
--
-- Lock order: the snapshots by account, currency and mode, so that two calls for one merchant never wait for each other.
CREATE OR REPLACE FUNCTION {{snapshot_accounts}}(p_merchant_id text, p_date date)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  next_id text := {{first_id}}((p_date + 1) AT TIME ZONE 'UTC');
  since_id text;
  added record;
  earlier numeric;
  made bigint := 0;
BEGIN
  PERFORM {{hold_merchant}}(p_merchant_id);
  SELECT coalesce({{first_id}}((max(s.date) + 1) AT TIME ZONE 'UTC'), '') INTO since_id
    FROM {{account_snapshots}} s WHERE s.merchant_id = p_merchant_id AND s.date < p_date;
  FOR added IN
    SELECT e.account, e.currency, e.test, sum(e.amount) AS sum FROM {{entries}} e
    WHERE e.merchant_id = p_merchant_id AND e.journal_id >= since_id AND e.journal_id < next_id
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  LOOP
    SELECT s.sum INTO earlier FROM {{account_snapshots}} s
      WHERE s.merchant_id = p_merchant_id AND s.account = added.account AND s.currency = added.currency
        AND s.test = added.test AND s.date < p_date
      ORDER BY s.date DESC LIMIT 1;
    INSERT INTO {{account_snapshots}} (merchant_id, account, currency, test, date, sum)
      VALUES (p_merchant_id, added.account, added.currency, added.test, p_date, added.sum + coalesce(earlier, 0))
      -- The primary key decides which of two calls stores the sum of an account and day. Both have computed the same sum.
      ON CONFLICT DO NOTHING;
    IF FOUND THEN made := made + 1; END IF;
  END LOOP;
  RETURN made;
END
$$;
