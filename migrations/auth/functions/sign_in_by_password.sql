-- Completes one sign-in by password, after the service has compared the password. Waits if another transaction has locked the
-- user row. See sign_ins_by_password for the rules and the parameters.
--
-- Returns the verdict `done` with the session, or only a refusal. The refusal for a deleted user is `password-changed`. The only
-- exception (55P03) is for a lock that is not granted within the lock_timeout of the connection, before any write.
--
-- Lock order: the user, the new session. This function locks the user row first, because sign_ins_by_password would leave out a
-- locked user. The lock is held until the session is committed, so the password cannot change meanwhile. A sign-in that waited
-- for a change of the password is refused as `password-changed`.
--
-- A repeated call opens another session, like a second sign-in of the user. If p_new_hash has replaced the verified hash, a
-- repeated call with the old p_verified_hash is refused as `password-changed`.
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
