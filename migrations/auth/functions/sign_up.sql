-- Signs a user up in one call: by email, by phone, or anonymously if the item has neither.
--
-- p_item, p_message: see the types in 0004-create-sign-up-contents. p_token_hash: the hash of the refresh token, if a session
-- begins. p_ip: an IP address, or empty. p_audit: whether to write the audit log.
--
-- Returns the user (actor_id), the verdict of judge_sign_up, and with `signed-in` the session.
--
-- If several sign-ups of one identifier run at the same time, the unique index of the email or the phone accepts one. The other
-- sign-ups wait for its user, and judge_sign_up then compares them with that user. A duplicate writes only a few rows less than a
-- fresh sign-up, and both store the interval of messages. So neither this response nor a later response reveals who has an
-- account.
--
-- Lock order: the interval of messages, the user, the rows of the user. An address change stores intervals under the lock of its
-- user. These are not intervals of sign-ups, so sign-ups and address changes cannot deadlock.
CREATE OR REPLACE FUNCTION {{sign_up}}(
  p_item {{sign_up_item}}, p_message {{sign_up_message}}, p_token_hash bytea, p_user_agent text, p_ip text, p_audit boolean,
  OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json, OUT profile json,
  OUT actor_id uuid
)
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  provider text := CASE WHEN p_item.email IS NOT NULL THEN 'email' WHEN p_item.phone IS NOT NULL THEN 'phone' END;
  owner {{users}};
  is_due boolean := false;
BEGIN
  -- A fresh sign-up ignores the interval, but stores it like a duplicate, so that later responses do not differ.
  IF NOT p_item.confirmed THEN
    INSERT INTO {{send_throttle}} AS t (key_hash, kind, sent_at)
      VALUES (p_message.interval_key, p_message.interval_kind, p_item.created_at)
      ON CONFLICT (key_hash, kind) DO UPDATE SET sent_at = p_item.created_at WHERE t.sent_at <= p_message.due_before;
    is_due := FOUND;
  END IF;
  owner := {{create_or_lock_user}}(p_item, provider, p_message.due_before);
  actor_id := owner.id;
  verdict := {{judge_sign_up}}(p_item, provider, owner, is_due, p_message.due_before);
  PERFORM {{keep_sign_up_content}}(
    owner.id, verdict, p_message.token_kind, p_item.aud, p_item.data, p_item.password_hash);

  IF verdict IN ('signed-in', 'sent') AND provider IS NOT NULL THEN
    INSERT INTO {{identities}} (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
      VALUES (p_item.identity_id, owner.id, provider, owner.id, p_item.identity_data, p_item.created_at, p_item.created_at);
  END IF;
  IF verdict IN ('sent', 'sent-again') THEN
    PERFORM {{send_sign_up_message}}(p_item, p_message, owner, verdict);
  END IF;
  IF p_audit THEN
    INSERT INTO {{audit_log_entries}} (actor_id, target_user_id, action, log_type, ip_address, payload)
      SELECT owner.id, owner.id, e.action, e.log_type, coalesce(p_ip, ''), {{audit_payload}}(
        owner, e.action, e.log_type, jsonb_build_object('provider', coalesce(provider, 'anonymous')))
      FROM (VALUES ('user_signedup', 'team', '{signed-in}'), ('user_confirmation_requested', 'user', '{sent}'),
        ('user_repeated_signup', 'user', '{sent-again,repeated,taken}')) AS e (action, log_type, verdicts)
      WHERE verdict = ANY (e.verdicts::text[]);
  END IF;
  IF verdict = 'signed-in' THEN
    SELECT c.session_id, c.aal, c.started_at, c.amr, c.profile INTO session_id, aal, started_at, amr, profile
      FROM {{create_session}}(
        owner.id, p_token_hash, CASE WHEN provider IS NULL THEN 'anonymous' ELSE 'password' END, p_user_agent, p_ip) c;
  END IF;
END
$$;
