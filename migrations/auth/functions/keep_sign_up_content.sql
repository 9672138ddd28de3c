-- Keeps what a sign-up brings until somebody confirms its account; see the table sign_up_contents.
--
-- p_verdict: the verdict of sign_up. p_kind: the kind of the sign-up's message. Called by sign_up, which holds the user's row.
--
-- A sign-up that sends no message changes nothing. Nor does a repeated sign-up for a user who has no content of its kind: an
-- admin made such a user, or the import of a database.
--
-- Lock order: the user, whom the caller has locked, the content. Every change of a content locks its user first, so that two
-- changes never wait for each other.
CREATE OR REPLACE FUNCTION {{keep_sign_up_content}}(
  p_user_id uuid, p_verdict text, p_kind text, p_aud text, p_data jsonb, p_password_hash text
)
RETURNS void
LANGUAGE plpgsql
{{include:hot.sql}}
AS $$
BEGIN
  IF p_verdict = 'sent' THEN
    INSERT INTO {{sign_up_contents}} (user_id, kind, aud, data, password_hash)
      VALUES (p_user_id, p_kind, p_aud, p_data, p_password_hash);
  ELSIF p_verdict = 'sent-again' THEN
    UPDATE {{sign_up_contents}} c SET aud = p_aud, data = p_data, password_hash = p_password_hash
      WHERE c.user_id = p_user_id AND c.kind = p_kind;
    -- The code is entered in the audience of its request, and its user is looked for there.
    IF FOUND THEN
      UPDATE {{users}} u SET aud = p_aud WHERE u.id = p_user_id AND u.aud IS DISTINCT FROM p_aud;
    END IF;
  END IF;
END
$$;
