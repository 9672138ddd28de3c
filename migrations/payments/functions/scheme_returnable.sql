-- distribute: everywhere
-- Returns the maximum amount that an acquirer can take back: its settlements, refunds and lost disputes.
CREATE OR REPLACE FUNCTION {{scheme_returnable}}(p_merchant_id text, p_currency text)
RETURNS numeric
LANGUAGE plpgsql STABLE
AS $$
BEGIN
  RETURN (
    SELECT coalesce(sum(e.amount), 0) FROM {{entries}} e
    JOIN {{journals}} j ON j.merchant_id = p_merchant_id AND j.id = e.journal_id
    WHERE e.merchant_id = p_merchant_id AND e.account = 'scheme_receivable' AND e.currency = p_currency AND NOT e.test
      AND j.kind IN ('schemeSettled', 'refund', 'dispute')
  );
END
$$;
