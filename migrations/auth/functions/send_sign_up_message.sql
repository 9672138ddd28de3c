-- Enqueues the job that sends the message of a sign-up. Called by sign_up, which has locked the user row.
--
-- p_owner: the user that the sign-up has created or found. p_verdict: `sent` or `sent-again`, from judge_sign_up. The message to
-- a new user has the secrets of p_message. The job of a message that is sent again creates new secrets.
--
-- Lock order: the user, whom the caller has locked, then the rows of the user.
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
    -- The job sends the message later, but the interval that judge_sign_up checks begins now.
    UPDATE {{one_time_tokens}} t SET sent_at = p_item.created_at WHERE t.user_id = p_owner.id;
  END IF;
  IF job IS NOT NULL THEN
    -- A job has the field `message`, for operators, only if the job itself sends the message.
    WITH shown AS (
      INSERT INTO {{messages}} (id, kind, purpose, channel, user_id, recipient)
        SELECT m.id, m.kind, m.purpose, m.channel, p_owner.id, m.recipient
        FROM jsonb_to_record(job -> 'message') AS m (id uuid, kind text, purpose text, channel text, recipient text)
        WHERE m.id IS NOT NULL)
    INSERT INTO {{outbox}} (task, data) VALUES (job ->> 'task', job -> 'data');
  END IF;
END
$$;
