-- Removes an email from an account without a claim to the email, and returns whether such an account existed. Called if a user
-- starts to confirm the email, for example by a sign-up: this user gets a separate account.
--
-- A provider may have created an account with an address that neither the provider nor a mail has verified. An attacker can give
-- a provider the address of another person, and wait until that person confirms the account. The account stays without an
-- address, and mails already sent to the address become invalid.
--
-- Lock order: the user, then the messages. Every function locks a user before the rows of the user, so two transactions cannot
-- deadlock.
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
