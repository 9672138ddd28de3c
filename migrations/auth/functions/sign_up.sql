-- Signs a user up in one call: by email, by phone, or anonymously when neither is given.
--
-- p_confirmed: whether the identifier counts as confirmed, so that the user is signed in; the parameters of the message are
-- null then. p_interval_key, p_interval_kind: the row of send_throttle. p_due_before: a new message is due if the last one was
-- sent at or before this time. p_token_kind to p_expires_at: the secrets of the message. p_challenge, p_challenge_method: PKCE, or
-- null. p_message, p_message_again: the job {task, data} that sends the message to a new user, and to a user who has not
-- confirmed; null sends nothing. p_token_hash: the hash of the refresh token. p_ip: an IP address, or empty. p_audit: whether
-- to write the audit log.
--
-- Answers the user (actor_id) and a verdict: `signed-in` with the session; `sent`: a message goes to the new user;
-- `sent-again`: one goes to a user who has not confirmed; `repeated`: it has such a user, and nothing is sent; `taken`: it has a
-- user who has confirmed, or any user where p_confirmed is set.
--
-- Of parallel sign-ups of one identifier the unique index of the email or the phone lets one in. The others wait for it and are
-- judged by what it has made. A duplicate does less work than a fresh sign-up by a few rows only, and both note the interval of
-- messages, so that neither this answer nor a later one tells who has an account.
--
-- Lock order: the interval of messages, the user, what belongs to them. A change of phone notes an interval under the lock of
-- its user. The interval is that of a number that the user does not have yet, so a sign-up that holds it never waits for this
-- user.
CREATE OR REPLACE FUNCTION {{sign_up}}(
  p_user_id uuid, p_identity_id uuid, p_email text, p_phone text, p_aud text, p_role text,
  p_password_hash text, p_data jsonb, p_identity_data jsonb, p_now timestamptz, p_confirmed boolean,
  p_interval_key bytea, p_interval_kind text, p_due_before timestamptz,
  p_token_kind text, p_link_hash bytea, p_code_hash bytea, p_code_salt bytea, p_expires_at timestamptz,
  p_challenge text, p_challenge_method text, p_message jsonb, p_message_again jsonb,
  p_token_hash bytea, p_user_agent text, p_ip text, p_audit boolean,
  OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json, OUT profile json,
  OUT actor_id uuid
)
LANGUAGE plpgsql
SET plan_cache_mode = 'force_generic_plan'
SET enable_seqscan = 'off'
AS $$
DECLARE
  provider text := CASE WHEN p_email IS NOT NULL THEN 'email' WHEN p_phone IS NOT NULL THEN 'phone' END;
  owner {{users}};
  is_new boolean;
  is_due boolean := false;
  flow uuid;
  opened record;
BEGIN
  -- A fresh sign-up does not wait for the interval, but notes it as a duplicate does.
  IF NOT p_confirmed THEN
    INSERT INTO {{send_throttle}} AS t (key_hash, kind, sent_at)
      VALUES (p_interval_key, p_interval_kind, p_now)
      ON CONFLICT (key_hash, kind) DO UPDATE SET sent_at = p_now WHERE t.sent_at <= p_due_before;
    is_due := FOUND;
  END IF;

  -- Makes the user, or finds and locks the owner of the identifier. Looking comes after the insert, and by one key, so that no
  -- plan walks through all users. A row that only waits for its first one-time code gives way, and so does an email without a
  -- claim. The loop ends at its first or third statement, unless an owner comes or goes meanwhile.
  LOOP
    INSERT INTO {{users}} AS u (id, aud, role, email, phone, encrypted_password, email_confirmed_at, phone_confirmed_at,
        confirmation_sent_at, raw_app_meta_data, raw_user_meta_data, is_anonymous, created_at, updated_at,
        {{include:blank_columns.sql}})
      SELECT p_user_id, p_aud, p_role, p_email, p_phone, p_password_hash,
        CASE WHEN p_confirmed AND provider = 'email' THEN p_now END,
        CASE WHEN p_confirmed AND provider = 'phone' THEN p_now END,
        CASE WHEN NOT p_confirmed THEN p_now END,
        CASE WHEN provider IS NULL THEN '{}'
          ELSE jsonb_build_object('provider', provider, 'providers', jsonb_build_array(provider)) END,
        p_data, provider IS NULL, p_now, p_now,
        {{include:blank_values.sql}}
      -- In an adopted database the index of emails in lower case may not be unique.
      WHERE NOT EXISTS (SELECT FROM {{users}} e WHERE lower(e.email) = p_email AND NOT e.is_sso_user)
      -- The unique index of the email or the phone decides.
      ON CONFLICT DO NOTHING RETURNING u.* INTO owner;
    is_new := FOUND;
    EXIT WHEN is_new;
    SELECT u.* INTO owner FROM {{users}} u
      WHERE u.id = (
          (SELECT e.id FROM {{users}} e WHERE lower(e.email) = p_email AND NOT e.is_sso_user
            ORDER BY e.email_confirmed_at IS NULL, e.created_at, e.id LIMIT 1)
        UNION ALL SELECT t.id FROM {{users}} t WHERE t.phone = p_phone)
      FOR NO KEY UPDATE;
    EXIT WHEN FOUND AND owner.staged_at IS NULL AND NOT {{release_email}}(p_email, p_now);
    DELETE FROM {{users}} u WHERE u.id = owner.id AND u.staged_at IS NOT NULL;
  END LOOP;
  actor_id := owner.id;
  verdict := CASE
    WHEN is_new AND p_confirmed THEN 'signed-in'
    WHEN is_new THEN 'sent'
    WHEN p_confirmed OR CASE provider WHEN 'email' THEN owner.email_confirmed_at ELSE owner.phone_confirmed_at END IS NOT NULL
      THEN 'taken'
    WHEN is_due THEN 'sent-again'
    ELSE 'repeated' END;

  -- The interval counts by audience, and an account that nobody has confirmed follows the newest request. Without this rule a
  -- stranger could replace the content of a sign-up at once, by a sign-up in each other audience. So a sign-up in another audience
  -- than the account's changes and sends nothing while the last message to the account is younger than the interval. A message
  -- that is sent again goes out a moment later and counts from this moment.
  IF verdict = 'sent-again' AND owner.aud IS DISTINCT FROM p_aud THEN
    IF EXISTS (SELECT FROM {{one_time_tokens}} t WHERE t.user_id = owner.id AND t.sent_at > p_due_before) THEN
      verdict := 'repeated';
    ELSE
      UPDATE {{one_time_tokens}} t SET sent_at = p_now WHERE t.user_id = owner.id;
    END IF;
  END IF;
  PERFORM {{keep_sign_up_content}}(owner.id, verdict, p_token_kind, p_aud, p_data, p_password_hash);

  IF is_new AND provider IS NOT NULL THEN
    INSERT INTO {{identities}}
        (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
      VALUES (p_identity_id, p_user_id, provider, p_user_id, p_identity_data, p_now, p_now);
  END IF;
  IF verdict = 'sent' THEN
    IF p_challenge IS NOT NULL THEN
      INSERT INTO {{flow_state}}
          (user_id, provider_type, authentication_method, code_challenge, code_challenge_method, created_at)
        VALUES (p_user_id, 'email', 'email/signup', p_challenge, p_challenge_method, p_now) RETURNING id INTO flow;
    END IF;
    INSERT INTO {{one_time_tokens}}
        (user_id, kind, relates_to, link_hash, otp_hash, otp_salt, flow_state_id, sent_at, expires_at)
      VALUES (p_user_id, p_token_kind, coalesce(p_email, p_phone), p_link_hash, p_code_hash, p_code_salt, flow, p_now,
        p_expires_at);
  END IF;

  INSERT INTO {{outbox}} (task, data)
    SELECT m.message ->> 'task', m.message -> 'data'
    FROM (SELECT CASE verdict WHEN 'sent' THEN p_message WHEN 'sent-again' THEN p_message_again END AS message) m
    WHERE m.message IS NOT NULL;
  IF p_audit THEN
    INSERT INTO {{audit_log_entries}} (actor_id, target_user_id, action, log_type, ip_address, payload)
      SELECT owner.id, owner.id, e.action, e.log_type, coalesce(p_ip, ''), {{audit_payload}}(
        owner, e.action, e.log_type, jsonb_build_object('provider', coalesce(provider, 'anonymous')))
      FROM (VALUES ('user_signedup', 'team', verdict = 'signed-in'),
        ('user_confirmation_requested', 'user', verdict = 'sent'),
        ('user_repeated_signup', 'user', NOT is_new)) AS e (action, log_type, due)
      WHERE e.due;
  END IF;

  IF verdict = 'signed-in' THEN
    SELECT c.* INTO opened FROM {{create_session}}(
      p_user_id, p_token_hash, CASE WHEN provider IS NULL THEN 'anonymous' ELSE 'password' END, p_user_agent, p_ip) c;
    session_id := opened.session_id;
    aal := opened.aal;
    started_at := opened.started_at;
    amr := opened.amr;
    profile := opened.profile;
  END IF;
END
$$;
