-- distribute: p_merchant_id
-- Stores the time of the first challenge of an order, its origin and its return URL. p_origin: NULL keeps the last known origin.
-- Returns whether the first challenge was less than two seconds ago.
--
-- Lock order: only the session. Of two parallel first challenges, the second keeps the time of the first.
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
