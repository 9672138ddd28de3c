-- Keeps what a request with an idempotency key was answered, in the transaction that claimed the key (see claim_key.sql).
--
-- p_caller: who asked, and the key of the request.
-- p_status: the HTTP status of the answer.
-- p_headers: headers that the answer has of its own.
-- p_body: the member `data` of the body.
CREATE OR REPLACE FUNCTION {{finish_key}}(p_caller {{caller}}, p_status integer, p_headers json, p_body json)
RETURNS void
LANGUAGE sql
AS $$
  UPDATE {{idempotency_keys}} k SET status = p_status, headers = p_headers, body = p_body
  WHERE k.subject = coalesce(p_caller.actor, '') AND k.key = p_caller.key
$$;
