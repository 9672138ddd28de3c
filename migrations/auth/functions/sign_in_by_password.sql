-- The second half of one sign-in by password, which waits for its user's row if somebody else holds it. Judges and writes as
-- sign_ins_by_password does, which has the rules and explains the parameters.
--
-- Answers the verdict `done` with the session, or a refusal alone. A user who is gone is refused as `password-changed`. Only
-- a lock that is not granted within the lock_timeout of the connection raises an exception (55P03), before anything is written.
--
-- Lock order: the user, the new session. The lock of the user's row comes first, since sign_ins_by_password would leave out a
-- user whom somebody holds. It lasts until the session is committed, so no change of the password comes between. A sign-in that
-- waited for such a change is refused as `password-changed`.
--
-- A repeat opens another session, as a second sign-in of the user does. Where p_new_hash has taken the place of the verified
-- hash, a repeat with the old p_verified_hash is refused as `password-changed`.
CREATE OR REPLACE FUNCTION {{sign_in_by_password}}(
  p_user_id uuid, p_verified_hash text, p_new_hash text, p_provider text, p_token_hash bytea, p_user_agent text, p_ip text,
  p_audit boolean,
  OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json, OUT profile json
)
LANGUAGE plpgsql
{{include:hot.sql}}
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
AS $$
BEGIN
  PERFORM FROM {{users}} u WHERE u.id = p_user_id FOR NO KEY UPDATE;
  SELECT r.verdict, r.session_id, r.aal, r.started_at, r.amr, r.profile
    INTO verdict, session_id, aal, started_at, amr, profile
    FROM {{sign_ins_by_password}}(ARRAY[p_user_id], ARRAY[p_verified_hash], ARRAY[p_new_hash],
      ARRAY[p_provider], ARRAY[p_token_hash], ARRAY[p_user_agent], ARRAY[p_ip], p_audit) r;
  IF NOT FOUND THEN verdict := 'password-changed'; END IF;
END
$$;
