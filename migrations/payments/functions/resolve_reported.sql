-- distribute: everywhere
-- Resolves the exception that an earlier report of an acquirer has left under p_reference, because the report is booked now. An
-- exception that holds back money stays open for the operator: the acquirer may take that money in addition.
--
-- Lock: the exception. The caller has locked the balance before, as in move_currency.
CREATE OR REPLACE FUNCTION {{resolve_reported}}(p_merchant_id text, p_reference text)
RETURNS void
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
BEGIN
  UPDATE {{acquirer_exceptions}} x SET resolved = now()
    WHERE x.merchant_id = p_merchant_id AND x.id = {{exception_id}}(p_reference) AND x.reserved = 0 AND x.resolved IS NULL;
END
$$;
