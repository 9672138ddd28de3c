-- distribute: p_merchant_id
-- Stores when the customer of an order was first asked, and where the challenge leads. p_origin: NULL when
-- the request did not say; the last known origin stays. True when the customer was first asked less than two
-- seconds ago.
--
-- Lock order: the session alone. Of two first questions at once, the second keeps the moment of the first.
CREATE OR REPLACE FUNCTION {{start_challenge}}(p_merchant_id text, p_session_id text, p_origin text, p_return_url text)
RETURNS boolean
LANGUAGE plpgsql {{include:definer.sql}}
AS $$
DECLARE
  moment timestamptz := date_trunc('milliseconds', clock_timestamp());
  asked timestamptz;
BEGIN
  PERFORM {{lock_tenant}}(p_merchant_id);
  UPDATE {{payment_sessions}} s
    SET challenged = coalesce(s.challenged, moment), origin = coalesce(p_origin, s.origin), return_url = p_return_url
    WHERE s.merchant_id = p_merchant_id AND s.id = p_session_id RETURNING s.challenged INTO STRICT asked;
  RETURN asked > clock_timestamp() - interval '2 seconds';
END
$$;
