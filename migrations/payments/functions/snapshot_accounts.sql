-- distribute: p_merchant_id
-- Stores the sums of a merchant's accounts up to the end of a past UTC day, and returns how many. The sum of an account
-- continues from its last snapshot; an account without entries since then keeps that one.
--
-- Lock order: the snapshots by account, currency and mode, so that two calls for one merchant never wait for each other.
CREATE OR REPLACE FUNCTION {{snapshot_accounts}}(p_merchant_id text, p_date date)
RETURNS bigint
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
WITH day (first_id, next_id) AS (
  SELECT
    coalesce((
      SELECT {{first_id}}((max(s.date) + 1) AT TIME ZONE 'UTC')
      FROM {{account_snapshots}} s WHERE s.merchant_id = p_merchant_id AND s.date < p_date
    ), ''),
    {{first_id}}((p_date + 1) AT TIME ZONE 'UTC')
), added AS (
  SELECT e.account, e.currency, e.test, sum(e.amount) AS sum FROM {{entries}} e, day
  WHERE e.merchant_id = p_merchant_id AND e.journal_id >= day.first_id AND e.journal_id < day.next_id
  GROUP BY 1, 2, 3
), made AS (
  INSERT INTO {{account_snapshots}} (merchant_id, account, currency, test, date, sum)
  SELECT p_merchant_id, a.account, a.currency, a.test, p_date, a.sum + coalesce((
    SELECT s.sum FROM {{account_snapshots}} s
    WHERE s.merchant_id = p_merchant_id AND s.account = a.account AND s.currency = a.currency
      AND s.test = a.test AND s.date < p_date
    ORDER BY s.date DESC LIMIT 1
  ), 0)
  FROM added a
  ORDER BY a.account, a.currency, a.test
  -- The primary key decides which of two calls stores the sum of an account and day. Both have computed the same sum.
  ON CONFLICT DO NOTHING
  RETURNING 1
)
SELECT count(*) FROM made
$$;
