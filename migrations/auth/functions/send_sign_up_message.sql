-- Sends the message of a sign-up, by a job of the outbox. Called by sign_up, which holds the user's row.
--
-- p_owner: the user as the sign-up has found or made them. p_verdict: `sent` or `sent-again`, of judge_sign_up. A new user gets
-- the secrets of p_message. A message that is sent again has secrets of its own, which its job makes.
--
-- Lock order: the user, whom the caller has locked, what belongs to them.
CREATE OR REPLACE FUNCTION {{send_sign_up_message}}(
  p_item {{sign_up_item}}, p_message {{sign_up_message}}, p_owner {{users}}, p_verdict text
)
RETURNS void
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
DECLARE
  job jsonb := CASE p_verdict WHEN 'sent' THEN p_message.job ELSE p_message.job_again END;
  flow uuid;
BEGIN
  IF p_verdict = 'sent' THEN
    IF p_message.code_challenge IS NOT NULL THEN
      INSERT INTO {{flow_state}}
          (user_id, provider_type, authentication_method, code_challenge, code_challenge_method, created_at)
        VALUES (p_owner.id, 'email', 'email/signup', p_message.code_challenge, p_message.code_challenge_method,
          p_item.created_at)
        RETURNING id INTO flow;
    END IF;
    INSERT INTO {{one_time_tokens}}
        (user_id, kind, relates_to, link_hash, otp_hash, otp_salt, flow_state_id, sent_at, expires_at)
      VALUES (p_owner.id, p_message.token_kind, coalesce(p_item.email, p_item.phone), p_message.link_hash,
        p_message.code_hash, p_message.code_salt, flow, p_item.created_at, p_message.expires_at);
  ELSIF p_owner.aud IS DISTINCT FROM p_item.aud THEN
    -- The message goes out a moment later. The interval of judge_sign_up begins now.
    UPDATE {{one_time_tokens}} t SET sent_at = p_item.created_at WHERE t.user_id = p_owner.id;
  END IF;
  IF job IS NOT NULL THEN
    -- Only a job that sends the message itself has one to show to operators.
    WITH shown AS (
      INSERT INTO {{messages}} (id, kind, purpose, channel, user_id, recipient)
        SELECT m.id, m.kind, m.purpose, m.channel, p_owner.id, m.recipient
        FROM jsonb_to_record(job -> 'message') AS m (id uuid, kind text, purpose text, channel text, recipient text)
        WHERE m.id IS NOT NULL)
    INSERT INTO {{outbox}} (task, data) VALUES (job ->> 'task', job -> 'data');
  END IF;
END
$$;
