-- distribute: everywhere
-- Returns the time of a merchant's clock. A test merchant may advance its clock. All due dates of a merchant use this time.
CREATE OR REPLACE FUNCTION {{merchant_now}}(p_merchant_id text)
RETURNS timestamptz
LANGUAGE plpgsql
AS $$
BEGIN
  RETURN (
    SELECT date_trunc('milliseconds', clock_timestamp()) + b.clock_offset * interval '1 second'
    FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id
  );
END
$$;
