-- distribute: coordinator
-- Inserts a merchant with a tag and returns its row, or no row if the tag is taken. The unique key decides. After a SELECT,
-- another database transaction could still take the tag.
CREATE OR REPLACE FUNCTION {{add_merchant}}(p_tag text, p_merchant jsonb)
RETURNS SETOF {{merchants}}
LANGUAGE plpgsql
AS $$
DECLARE
  made record := {{new_id}}(p_tag);
  drawn uuid := gen_random_uuid();
  v {{merchants}} := jsonb_populate_record(NULL::{{merchants}}, p_merchant);
BEGIN
  RETURN QUERY
  INSERT INTO {{merchants}} AS m (
    id, tag, key, name, currency, test, email, website, descriptor,
    country, company_number, iban, holder, claim, pricing, created
  ) VALUES (
    made.id, p_tag, drawn, v.name, v.currency, v.test, v.email, v.website, v.descriptor,
    v.country, v.company_number, v.iban, v.holder, v.claim, v.pricing, made.created
  )
  ON CONFLICT (tag) DO NOTHING
  RETURNING m.*;
END
$$;
