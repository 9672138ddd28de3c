-- distribute: everywhere
-- Takes p_count ids of a merchant: id_at(first, tag), id_at(first + 1, tag), … Locks the balance row until the commit. The tag
-- is that of the last id, which always has it.
CREATE OR REPLACE FUNCTION {{take_ids}}(p_merchant_id text, p_count int, OUT first bigint, OUT tag text)
LANGUAGE plpgsql
AS $$
#variable_conflict use_variable
BEGIN
  SELECT {{next_number}}(b.last_id), right(b.last_id, 8) INTO STRICT first, tag
    FROM {{merchant_balances}} b WHERE b.merchant_id = p_merchant_id FOR UPDATE;
  UPDATE {{merchant_balances}} b SET last_id = {{id_at}}(first + p_count - 1, tag)
    WHERE b.merchant_id = p_merchant_id;
END
$$;
