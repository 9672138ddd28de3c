-- Stores the response to a request with an idempotency key, in the database transaction that claimed the key (see claim_key.sql).
--
-- p_caller: the sender and the idempotency key. p_status: the HTTP status. p_headers: the headers specific to the response.
-- p_body: the field `data` of the body.
CREATE OR REPLACE FUNCTION {{finish_key}}(p_caller {{caller}}, p_status integer, p_headers json, p_body json)
RETURNS void
LANGUAGE sql
AS $$
  UPDATE {{idempotency_keys}} k SET status = p_status, headers = p_headers, body = p_body
  WHERE k.subject = coalesce(p_caller.actor, '') AND k.key = p_caller.key
$$;
