-- Judges a sign-up by the owner of its identifier, whom the caller has made or locked. Called by sign_up.
--
-- p_provider: `email` or `phone`, as the item has one. p_is_due: whether the interval allows a message. p_due_before: a message
-- that was sent at or before this time is out of its interval.
--
-- Returns:
-- `signed-in`: the new user gets a session.
-- `sent`: a message goes to the new user.
-- `sent-again`: a message goes to a user who has not confirmed.
-- `repeated`: the identifier has a user who has not confirmed, and nothing is sent.
-- `taken`: the identifier has a user who has confirmed, or any user where it counts as confirmed.
--
-- The interval counts by audience, and an account that nobody has confirmed follows the newest request. Without the rule for
-- audiences a stranger could replace the content of a sign-up at once, by a sign-up in each other audience. So a sign-up in
-- another audience than the account's changes and sends nothing while the last message to the account is younger than the
-- interval.
--
-- A phone has one code, whichever request has brought it. A code to sign in has an interval of its own, which p_is_due does not
-- tell. So a sign-up by phone changes and sends nothing while the last code is younger than the interval: a stranger would end
-- the code that the owner waits for, and the next one would bring the password of the stranger.
CREATE OR REPLACE FUNCTION {{judge_sign_up}}(
  p_item {{sign_up_item}}, p_provider text, p_owner {{users}}, p_is_due boolean, p_due_before timestamptz
)
RETURNS text
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  confirmed_at timestamptz := CASE p_provider WHEN 'email' THEN p_owner.email_confirmed_at ELSE p_owner.phone_confirmed_at END;
BEGIN
  IF p_owner.id = p_item.user_id THEN
    RETURN CASE WHEN p_item.confirmed THEN 'signed-in' ELSE 'sent' END;
  END IF;
  IF p_item.confirmed OR confirmed_at IS NOT NULL THEN
    RETURN 'taken';
  END IF;
  IF NOT p_is_due THEN
    RETURN 'repeated';
  END IF;
  IF (p_provider = 'phone' OR p_owner.aud IS DISTINCT FROM p_item.aud)
      AND EXISTS (SELECT FROM {{one_time_tokens}} t WHERE t.user_id = p_owner.id AND t.sent_at > p_due_before) THEN
    RETURN 'repeated';
  END IF;
  RETURN 'sent-again';
END
$$;
