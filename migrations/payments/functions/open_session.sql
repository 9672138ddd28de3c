-- distribute: p_merchant_id
-- Opens the session of an order for half an hour, at the step p_step. p_tds: the enrolment of the card. Returns its id.
--
-- A plain statement would create the id on the server that receives it. The counters of two servers may have the same value, so
-- two sessions of a merchant that begin in the same millisecond could get the same id.
CREATE OR REPLACE FUNCTION {{open_session}}(p_merchant_id text, p_digest bytea, p_step text, p_tds jsonb)
RETURNS text
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  merchant_tag text;
  made record;
BEGIN
  SELECT m.tag INTO STRICT merchant_tag FROM {{merchants}} m WHERE m.id = p_merchant_id;
  made := {{new_id}}(merchant_tag);
  INSERT INTO {{payment_sessions}} (merchant_id, id, created, digest, step, tds, expires)
    VALUES (p_merchant_id, made.id, made.created, p_digest, p_step, p_tds, made.created + interval '30 minutes');
  RETURN made.id;
END
$$;
