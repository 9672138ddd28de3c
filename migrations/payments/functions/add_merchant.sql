-- distribute: coordinator
-- Inserts a merchant under a tag and returns its row, or no row if the tag is taken. The unique key decides: after a look
-- beforehand, another database transaction could still take the tag.
CREATE OR REPLACE FUNCTION {{add_merchant}}(p_tag text, p_merchant jsonb)
RETURNS SETOF {{merchants}}
LANGUAGE sql
AS $$
INSERT INTO {{merchants}} (
  id, tag, key, name, currency, test, email, website, descriptor,
  country, company_number, iban, claim, pricing, created
)
SELECT made.id, p_tag, gen_random_uuid(), v.name, v.currency, v.test, v.email, v.website, v.descriptor,
  v.country, v.company_number, v.iban, v.claim, v.pricing, made.created
FROM {{new_id}}(p_tag) made,
  jsonb_to_record(p_merchant) AS v(
    name text, currency text, test boolean, email text, website text, descriptor text,
    country text, company_number text, iban text, claim jsonb, pricing jsonb
  )
ON CONFLICT ON CONSTRAINT {{local:merchants_tag_uq}} DO NOTHING
RETURNING *
$$;
