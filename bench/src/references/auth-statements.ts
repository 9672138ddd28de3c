/** The columns of a user record, from a row `u` of users. */
const COLUMNS = `u.id, u.aud, u.role, u.email, u.phone, u.email_confirmed_at, u.phone_confirmed_at, u.confirmed_at,
  u.invited_at, u.confirmation_sent_at, u.recovery_sent_at, u.email_change, u.email_change_sent_at, u.phone_change,
  u.phone_change_sent_at, u.reauthentication_sent_at, u.last_sign_in_at, u.raw_app_meta_data, u.raw_user_meta_data,
  u.banned_until, u.deleted_at, u.is_anonymous, u.created_at, u.updated_at`

/** The rows that a user record is made of. */
const PROFILE = `${COLUMNS},
  (SELECT json_agg(i ORDER BY i.created_at, i.id) FROM auth.identities i WHERE i.user_id = u.id) AS identities,
  (SELECT json_agg(f ORDER BY f.created_at, f.id) FROM auth.user_factors f WHERE f.user_id = u.id) AS factors`

/** The rows that the record of a new user is made of, whose identity the statement itself has inserted. */
const PROFILE_OF_NEW = `${COLUMNS}, (SELECT json_agg(identity) FROM identity) AS identities, NULL AS factors`

/** The user who signs in: $1 the address. */
export const LOGIN = `SELECT u.id, u.encrypted_password FROM auth.users u
  WHERE lower(u.email) = $1 AND NOT u.is_sso_user`

/** A session for the row \`u\`: its refresh token ($1 the hash), how it was proven, and who asked ($2 user agent, $3 address). */
const SESSION = `session AS (
    INSERT INTO auth.sessions (id, user_id, aal, user_agent, ip, last_ip, created_at, updated_at)
    SELECT auth.uuid_v7(), u.id, 'aal1', $2, $3::text::inet, $3::text::inet, now(), now() FROM u RETURNING id, aal, user_id
  ), token AS (
    INSERT INTO auth.refresh_tokens (session_id, user_id, token_hash, counter) SELECT id, user_id, $1, 0 FROM session
  ), amr AS (
    INSERT INTO auth.mfa_amr_claims (id, session_id, authentication_method, created_at, updated_at)
    SELECT auth.uuid_v7(), id, 'password', now(), now() FROM session
    RETURNING json_build_array(json_build_object('method', authentication_method,
      'timestamp', floor(extract(epoch FROM updated_at))::bigint)) AS amr
  ), audit AS (
    INSERT INTO auth.audit_log_entries (actor_id, target_user_id, action, log_type, ip_address, payload)
    SELECT u.id, u.id, $4, $5, $3::text, jsonb_build_object('actor_id', u.id, 'actor_username', u.email,
      'actor_via_sso', u.is_sso_user, 'action', $4::text, 'log_type', $5::text, 'traits', '{"provider": "email"}'::jsonb)
    FROM u
  )`

/** A sign-in whose password was right: $6 the user (auth reference: Password grant). */
export const OPEN_SESSION = `
  WITH u AS (UPDATE auth.users SET last_sign_in_at = now(), updated_at = now() WHERE id = $6 RETURNING users.*), ${SESSION}
  SELECT session.id AS session_id, session.aal, amr.amr, ${PROFILE} FROM u, session, amr`

/** A sign-up with a session at once: $6 the address, $7 the hash, $8 the id of the new user (auth reference: POST /signup). */
export const SIGN_UP = `
  WITH u AS (
    INSERT INTO auth.users (id, aud, role, email, encrypted_password, email_confirmed_at, raw_app_meta_data,
      raw_user_meta_data, last_sign_in_at, created_at, updated_at, instance_id, confirmation_token, recovery_token,
      email_change_token_new, email_change)
    VALUES ($8, 'authenticated', 'authenticated', $6, $7, now(), '{"provider": "email", "providers": ["email"]}',
      '{}', now(), now(), now(), '00000000-0000-0000-0000-000000000000', '', '', '', '')
    ON CONFLICT DO NOTHING RETURNING users.*
  ), identity AS (
    INSERT INTO auth.identities AS i (user_id, provider, provider_id, identity_data, created_at, updated_at)
    SELECT u.id, 'email', u.id, jsonb_build_object('sub', u.id, 'email', u.email, 'email_verified', true,
      'phone_verified', false), now(), now() FROM u RETURNING i.*
  ), ${SESSION}
  SELECT session.id AS session_id, session.aal, amr.amr, ${PROFILE_OF_NEW} FROM u, session, amr`

/** The user of an access token: $1 its subject. */
export const USER = `SELECT ${PROFILE} FROM auth.users u WHERE u.id = $1 AND u.deleted_at IS NULL`

/**
 * Exchanges a refresh token: $1 its hash, $2 the hash of its child, $3 user agent, $4 address. Writes parent, child, session,
 * user and two entries of the audit log (auth reference: Refresh tokens).
 */
export const REFRESH = `
  WITH parent AS (
    UPDATE auth.refresh_tokens SET revoked = true, updated_at = now()
    WHERE token_hash = $1 AND NOT revoked RETURNING id, session_id, user_id, counter
  ), child AS (
    INSERT INTO auth.refresh_tokens (session_id, user_id, token_hash, counter, parent_id)
    SELECT session_id, user_id, $2, counter + 1, id FROM parent
  ), session AS (
    UPDATE auth.sessions s SET refreshed_at = now() AT TIME ZONE 'UTC', updated_at = now(), user_agent = $3,
      last_ip = $4::text::inet
    FROM parent p WHERE s.id = p.session_id RETURNING s.id, s.aal
  ), u AS (
    UPDATE auth.users SET last_sign_in_at = now(), updated_at = now()
    FROM parent p WHERE users.id = p.user_id RETURNING users.*
  ), audit AS (
    INSERT INTO auth.audit_log_entries
      (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
    SELECT u.id, u.id, session.id, e.action, 'token', $4::text, jsonb_build_object('actor_id', u.id,
      'actor_username', u.email, 'actor_via_sso', u.is_sso_user, 'action', e.action, 'log_type', 'token')
    FROM u, session, (VALUES ('token_refreshed'), ('token_revoked')) AS e (action)
  )
  SELECT session.id AS session_id, session.aal, (
      SELECT json_agg(json_build_object('method', a.authentication_method,
        'timestamp', floor(extract(epoch FROM a.updated_at))::bigint) ORDER BY a.updated_at DESC)
      FROM auth.mfa_amr_claims a WHERE a.session_id = session.id) AS amr, ${PROFILE}
  FROM u, session`
