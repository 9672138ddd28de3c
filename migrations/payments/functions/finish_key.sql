-- distribute: everywhere
-- Stores the response of a claimed key: the status, and the object, the processing error or the body. Does nothing without a key.
CREATE OR REPLACE FUNCTION {{finish_key}}(
  p_caller {{caller}}, p_merchant_id text, p_identity_id text, p_status int, p_object_id text, p_error_code int,
  p_body text
)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  UPDATE {{idempotency}} i
    SET status = p_status, object_id = p_object_id, error_code = p_error_code, body = p_body
    WHERE {{include:scope_of_key.sql}};
END
$$;
