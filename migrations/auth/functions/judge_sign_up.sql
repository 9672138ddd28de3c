-- Decides what a sign-up may do, by the owner of its identifier. Called by sign_up, which has created or locked the owner.
--
-- p_provider: `email` or `phone`, the identifier of the item. p_is_due: whether the interval allows a message. p_due_before: a
-- new message may follow a message sent at or before this time.
--
-- Returns: `signed-in`: the new user gets a session. `sent`: the new user gets a message. `sent-again`: an unconfirmed user gets
-- a message. `repeated`: the identifier belongs to an unconfirmed user, and nothing is sent. `taken`: the identifier belongs to a
-- confirmed user, or to any user if the identifier of this sign-up counts as confirmed.
--
-- p_is_due counts by audience, and an unconfirmed account takes the content of the newest request. So a stranger could replace
-- the content of a sign-up immediately, by a sign-up in another audience. To prevent this, a sign-up in another audience changes
-- and sends nothing while the last message to the account is younger than the interval.
--
-- A phone has only one valid code, and p_is_due does not cover the interval of sign-in codes. So a sign-up by phone changes and
-- sends nothing while the last code is younger than the interval. Otherwise a stranger could end the code that the owner waits
-- for, and the next code would confirm the stranger's password.
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
