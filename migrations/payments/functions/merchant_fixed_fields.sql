-- distribute: everywhere
-- Returns the fields of a merchant that never change, by the path under which a client writes them.
CREATE OR REPLACE FUNCTION {{merchant_fixed_fields}}(m {{merchants}})
RETURNS jsonb
LANGUAGE sql STABLE
AS $$
SELECT jsonb_build_object(
  'id', m.id, 'key', m.key, 'currency', m.currency, 'test', m.test, 'website', m.website,
  'company.country', m.country, 'company.number', m.company_number, 'bank.iban', m.iban,
  'bank.holder', m.holder,
  'created', to_char(m.created AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
)
$$;
