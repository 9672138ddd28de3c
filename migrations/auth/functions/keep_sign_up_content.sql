-- Stores the content of a sign-up until a user confirms its account; see the table sign_up_contents.
--
-- p_verdict: the verdict of sign_up. p_kind: the kind of the sign-up's message. Called by sign_up, which has locked the user row.
--
-- A sign-up that sends no message changes nothing. The same applies to a repeated sign-up if the user has no content of p_kind:
-- an admin or a database import created such a user.
--
-- Lock order: the user, whom the caller has locked, then the content. Every change of a content locks its user first, so two
-- changes cannot deadlock.
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
    -- The user enters the code in the audience of its request, so the user row must be in that audience.
    IF FOUND THEN
      UPDATE {{users}} u SET aud = p_aud WHERE u.id = p_user_id AND u.aud IS DISTINCT FROM p_aud;
    END IF;
  END IF;
END
$$;
