-- distribute: everywhere
-- Books a payout and inserts its row. p_id and p_created: created under the merchant's lock, which the caller holds. A test
-- payout is settled immediately. Under that lock, the caller has checked that the day has no payout yet.
CREATE OR REPLACE FUNCTION {{post_payout}}(
  p_merchant {{merchants}}, p_id text, p_created timestamptz, p_date date, p_amount bigint
)
RETURNS {{payouts}}
LANGUAGE plpgsql
AS $$
DECLARE
  posted record;
  made {{payouts}};
BEGIN
  SELECT p.* INTO posted
    FROM {{post}}(ARRAY[{{balance_movement}}(p_merchant.id, 'payout', p_amount, p_id, NULL)]) p;
  IF p_merchant.test THEN
    PERFORM {{post}}(ARRAY[{{balance_movement}}(p_merchant.id, 'payoutSettled', p_amount, p_id, NULL)]);
  END IF;
  INSERT INTO {{payouts}} AS p
    (merchant_id, id, created, date, test, amount, currency, iban, status, line_id)
    VALUES (p_merchant.id, p_id, p_created, p_date, p_merchant.test, p_amount, p_merchant.currency, p_merchant.iban,
      CASE WHEN p_merchant.test THEN 'settled' ELSE 'created' END, posted.line_id)
    RETURNING p.* INTO made;
  PERFORM {{record_states}}(made.merchant_id, 'payouts', ARRAY[made.id]);
  RETURN made;
END
$$;
