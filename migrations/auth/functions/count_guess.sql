-- Counts a code attempt at an address, and returns the codes that the caller then compares with the attempt.
--
-- p_identifier: the address that got the codes, in the audience p_audience. p_kinds: the kinds of message to which the codes may
-- belong. p_key_hash, p_network_hash: the keys that count the attempts at the address and from the client's network; null counts
-- no network. p_network: the client's network; null if many clients may share it, or if a session in it proves nothing.
-- p_guesses_max: the maximum number of attempts at a code; with 0 no attempt is compared. p_now: the time of the attempt.
--
-- Returns no rows if the attempt counts as wrong. All codes belong to one user: the user who has the address, otherwise the user
-- with the newest message. Otherwise one attempt would be compared with the codes of all users who have requested the address.
--
-- The first hundred attempts at an address in 24 hours need not wait. After that, one more attempt is allowed for each 15 minutes
-- since the first attempt. So an attacker gains little and cannot lock out the owner for a day. A network that has made three
-- attempts gets none of these later attempts, because it could use each of them before the owner. No limit applies to a network
-- in which the user has a session.
--
-- If no attempt is counted, a message in the write-ahead log still makes the commit wait for the disk. Otherwise the response time
-- would reveal which addresses have a code, and so which addresses POST /recover knows.
--
-- Lock order: the code, then the counts by their key. Attempts and the deletion of counts take locks in this order, so they cannot
-- deadlock. Parallel attempts at a code wait for its row, so they never exceed p_guesses_max.
CREATE OR REPLACE FUNCTION {{count_guess}}(
  p_audience text, p_identifier text, p_kinds text[], p_key_hash bytea, p_network_hash bytea, p_network inet,
  p_guesses_max integer, p_now timestamptz
)
RETURNS TABLE (
  id uuid, user_id uuid, kind text, relates_to text, otp_hash bytea, otp_salt bytea, flow_state_id uuid,
  expires_at timestamptz
)
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  yesterday timestamptz := p_now - interval '24 hours';
  guessed_user uuid;
  has_had_share boolean;
  is_refused boolean;
BEGIN
  SELECT t.user_id INTO guessed_user
    FROM {{one_time_tokens}} t JOIN {{users}} u ON u.id = t.user_id
    WHERE u.aud = p_audience AND t.relates_to = p_identifier AND t.kind = ANY (p_kinds)
      AND t.otp_hash IS NOT NULL AND t.guesses < p_guesses_max
    ORDER BY coalesce(p_identifier IN (lower(u.email), u.phone), false) DESC, t.sent_at DESC, t.id DESC
    LIMIT 1;

  has_had_share := EXISTS (
    SELECT FROM {{code_guesses}} n WHERE n.key_hash = p_network_hash AND n.since > yesterday AND n.guesses >= 3);
  is_refused := EXISTS (
    SELECT FROM {{code_guesses}} g
      WHERE g.key_hash = p_key_hash AND g.since > yesterday
        AND g.guesses >= 100 + CASE WHEN has_had_share THEN 0 ELSE floor(extract(epoch FROM p_now - g.since) / 900) END
        AND NOT EXISTS (
          SELECT FROM {{sessions}} s WHERE s.user_id = guessed_user AND coalesce(s.last_ip, s.ip) <<= p_network));

  IF NOT is_refused THEN
    RETURN QUERY UPDATE {{one_time_tokens}} t SET guesses = t.guesses + 1
      WHERE t.user_id = guessed_user AND t.relates_to = p_identifier AND t.kind = ANY (p_kinds)
        AND t.otp_hash IS NOT NULL AND t.guesses < p_guesses_max
      RETURNING t.id, t.user_id, t.kind, t.relates_to, t.otp_hash, t.otp_salt, t.flow_state_id, t.expires_at;
  END IF;
  IF is_refused OR NOT FOUND THEN
    PERFORM pg_logical_emit_message(true, 'guess', '');
    RETURN;
  END IF;

  INSERT INTO {{code_guesses}} AS g (key_hash, guesses, since)
    SELECT k.key_hash, 1, p_now
      FROM unnest(ARRAY[p_key_hash, p_network_hash]) AS k (key_hash) WHERE k.key_hash IS NOT NULL ORDER BY k.key_hash
    ON CONFLICT (key_hash) DO UPDATE SET
      guesses = CASE WHEN g.since > yesterday THEN g.guesses + 1 ELSE 1 END,
      since = CASE WHEN g.since > yesterday THEN g.since ELSE excluded.since END;
END
$$;
