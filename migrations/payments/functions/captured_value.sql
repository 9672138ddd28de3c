-- distribute: everywhere
-- Returns the worth, in the funding currency, of the first p_amount minor units of a transaction's captures. The last of these
-- captures counts with its share. p_amounts and p_grosses: the amount and worth of each capture, in order.
--
-- A reversal of x after X is worth f(X + x) - f(X). So the parts of a reversal add up to the whole, however often each part is
-- rounded. (reference: Worth of a reversal)
CREATE OR REPLACE FUNCTION {{captured_value}}(p_amounts bigint[], p_grosses bigint[], p_amount bigint)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
  rest bigint := p_amount;
  worth bigint := 0;
BEGIN
  FOR nth IN 1 .. cardinality(p_amounts) LOOP
    EXIT WHEN rest <= 0;
    worth := worth + CASE WHEN p_amounts[nth] <= rest THEN p_grosses[nth]
      ELSE {{round_half_even}}(rest * p_grosses[nth]::numeric, p_amounts[nth]) END;
    rest := rest - p_amounts[nth];
  END LOOP;
  RETURN worth;
END
$$;
