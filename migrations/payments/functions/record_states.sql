-- distribute: everywhere
-- Appends the present state of rows to the merchant's chain of states. p_table and p_ids: the rows. A function that inserts or
-- changes such a row calls this function afterwards, in the same database transaction. A trigger would also record, and so
-- confirm, changes by hand.
--
-- record_send writes texts in the encoding of the client, so the function sets the encoding. Otherwise a caller with another
-- encoding than UTF-8 would create hashes that do not match. (reference: Chain of states)
--
-- Lock: the balance, until the commit, so that two calls never continue the chain from the same end. Every caller has locked the
-- rows before, which prevents deadlocks.
CREATE OR REPLACE FUNCTION {{record_states}}(p_merchant_id text, p_table text, p_ids text[])
RETURNS void
LANGUAGE plpgsql
{{include:hot.sql}}
SET client_encoding = 'UTF8'
AS $$
#variable_conflict use_column
DECLARE
  held {{merchant_balances}};
  number bigint;
  tag text;
  digests record;
  made {{state_entries}};
  entries {{state_entries}}[] := '{}';
BEGIN
  SELECT b.* INTO STRICT held FROM {{merchant_balances}} b
    WHERE b.merchant_id = p_merchant_id FOR UPDATE;
  tag := right(held.last_id, 8);
  number := {{next_number}}(held.last_id);
  FOR digests IN SELECT * FROM {{row_digests}}(p_merchant_id, p_table, p_ids) LOOP
    made := ROW(p_merchant_id, {{id_at}}(number, tag), {{created_at}}(number), p_table,
      digests.row_id, digests.money, digests.party, digests.terms, session_user, NULL, 1);
    held.state_head := sha256('\x01' || held.state_head || record_send(made));
    made.hash := held.state_head;
    entries := entries || made;
    held.state_length := held.state_length + 1;
    held.last_id := made.id;
    number := number + 1;
  END LOOP;
  INSERT INTO {{state_entries}} SELECT * FROM unnest(entries) AS entry;
  UPDATE {{merchant_balances}} b
    SET last_id = held.last_id, state_head = held.state_head, state_length = held.state_length
    WHERE b.merchant_id = p_merchant_id;
END
$$;
