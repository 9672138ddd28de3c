-- distribute: everywhere
-- Returns a movement that changes only the merchant's balance, in its currency. p_gross: minor units. p_cause_id: the object that
-- causes the movement. p_description: the text of the line, NULL for the default text.
CREATE OR REPLACE FUNCTION {{balance_movement}}(
  p_merchant_id text, p_kind text, p_gross bigint, p_cause_id text, p_description text
)
RETURNS {{movement}}
LANGUAGE plpgsql STABLE
AS $$
BEGIN
  RETURN (
    SELECT jsonb_populate_record(NULL::{{movement}}, jsonb_build_object(
      'merchant_id', m.id, 'kind', p_kind, 'test', m.test, 'gross', p_gross, 'fee_flat', 0, 'fee_rate', 0,
      'cause_id', p_cause_id, 'description', p_description
    ))
    FROM {{merchants}} m WHERE m.id = p_merchant_id
  );
END
$$;
