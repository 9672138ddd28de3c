-- distribute: everywhere
-- Takes p_count ids of a merchant: id_at(first, tag), id_at(first + 1, tag), ... Locks the balance row until the commit. The tag
-- comes from the merchant's last id, which always has the merchant's tag.
CREATE OR REPLACE FUNCTION {{take_ids}}(p_merchant_id text, p_count int, OUT first bigint, OUT tag text)
LANGUAGE plpgsql
AS $$
#variable_conflict use_variable
DECLARE
  held text;
  newest text;
BEGIN
  SELECT b.last_id INTO STRICT held FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
  first := {{next_number}}(held);
  tag := right(held, 8);
  newest := {{id_at}}(first + p_count - 1, tag);
  UPDATE {{merchant_balances}} b SET last_id = newest
    WHERE b.merchant_id = p_merchant_id;
END
$$;
