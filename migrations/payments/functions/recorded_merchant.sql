-- distribute: everywhere
-- The row of a merchant, compared with what was recorded. Both are of one moment: the returned row is the compared one.
CREATE OR REPLACE FUNCTION {{recorded_merchant}}(p_merchant_id text)
RETURNS {{merchants}}
LANGUAGE plpgsql STABLE
{{include:hot.sql}}
AS $$
DECLARE
  merchant {{merchants}};
BEGIN
  PERFORM {{expect_recorded}}(p_merchant_id, 'merchants', ARRAY[p_merchant_id]);
  SELECT m.* INTO merchant FROM {{merchants}} m WHERE m.id = p_merchant_id;
  RETURN merchant;
END
$$;
