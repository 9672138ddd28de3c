-- distribute: everywhere
-- Returns the row of a merchant after a comparison with its record. The returned row is the compared row: both have one snapshot.
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
