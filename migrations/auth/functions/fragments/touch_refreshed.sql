-- Notes a refresh in the session `held_session` and in its user `held_user` at `moment`. Sets actor, profile and amr, of which the
-- audit entry and the answer are made.
WITH touched AS (
  UPDATE {{sessions}} s
    SET refreshed_at = moment AT TIME ZONE 'UTC', updated_at = moment, user_agent = p_user_agent,
      last_ip = nullif(p_ip, '')::inet
    WHERE s.id = held_session)
UPDATE {{users}} u SET last_sign_in_at = moment, updated_at = moment WHERE u.id = held_user
  RETURNING
    {{include:actor.sql}},
    {{include:profile.sql}},
    (SELECT json_agg(json_build_object('method', a.authentication_method,
        'timestamp', floor(extract(epoch FROM a.updated_at))::bigint) ORDER BY a.updated_at DESC, a.id DESC)
      FROM {{mfa_amr_claims}} a WHERE a.session_id = held_session)
  INTO actor, profile, amr;
