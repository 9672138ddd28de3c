-- Takes an email from an account that has no claim to it, and answers whether there was one. Called when somebody asks to show
-- that the email is theirs, as a sign-up does: they get an account of their own.
--
-- A provider may have made an account with an address that neither the provider nor a mail has verified. Anybody can tell a
-- provider somebody else's address, and wait for its owner to confirm the account. The account stays without an address, and
-- the mails that were sent to the address lose their effect.
--
-- Lock order: the user, the messages. A user is locked before anything that belongs to them, so that two transactions never
-- wait for each other.
CREATE OR REPLACE FUNCTION {{release_email}}(p_email text, p_now timestamptz)
RETURNS boolean
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  unclaimed_id uuid;
BEGIN
  UPDATE {{users}} u SET email = NULL, updated_at = p_now
    WHERE lower(u.email) = p_email AND NOT u.is_sso_user AND u.email_confirmed_at IS NULL AND u.staged_at IS NULL
      AND EXISTS (SELECT FROM {{identities}} i WHERE i.user_id = u.id AND i.provider NOT IN ('email', 'phone'))
      AND NOT EXISTS (SELECT FROM {{identities}} i WHERE i.user_id = u.id AND i.provider = 'email')
    RETURNING u.id INTO unclaimed_id;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  DELETE FROM {{one_time_tokens}} t WHERE t.user_id = unclaimed_id AND t.relates_to = p_email;
  RETURN true;
END
$$;
