-- Signs up users who are confirmed immediately and whose passwords were hashed together: inserts users, identities and sessions
-- in one statement.
--
-- The arrays have one element for each sign-up, with an email or a phone. p_data, p_identity_data: JSON. p_ips: an IP address, or
-- empty. p_audits: whether to write the audit log.
--
-- Returns a row for each new user: the place of the sign-up, counted from 1, the verdict `signed-in` and the session. A sign-up
-- gets no row if a user has the identifier, or if an earlier sign-up of the batch has it. The caller then calls sign_up for this
-- sign-up, because it may have to wait for another transaction.
--
-- Lock order: the users by their identifiers, so that two batches with the same identifiers cannot deadlock. The lock_timeout is
-- short: if another transaction is inserting an identifier, the sign-up can wait in a separate call instead.
--
-- The conditions `= ANY (...)` make PostgreSQL find users by key, even if the table was small at the time of planning.
CREATE OR REPLACE FUNCTION {{sign_ups}}(
  p_user_ids uuid[], p_identity_ids uuid[], p_emails text[], p_phones text[], p_auds text[], p_roles text[],
  p_password_hashes text[], p_data text[], p_identity_data text[], p_moments timestamptz[], p_token_hashes bytea[],
  p_user_agents text[], p_ips text[], p_audits boolean[]
)
RETURNS TABLE (
  item int, verdict text, session_id uuid, aal text, started_at timestamptz, amr json, profile json, actor_id uuid
)
LANGUAGE plpgsql
SET lock_timeout = '500ms'
{{include:hot.sql}}
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
AS $$
DECLARE
  called_at timestamptz := clock_timestamp();
BEGIN
  RETURN QUERY WITH
  i AS MATERIALIZED (
    SELECT n.*, {{uuid_v7}}() AS opened_id, called_at + (n.item - 1) * interval '1 microsecond' AS moment,
        CASE WHEN n.email IS NULL THEN 'phone' ELSE 'email' END AS provider
      FROM unnest(p_user_ids, p_identity_ids, p_emails, p_phones, p_auds, p_roles, p_password_hashes, p_data,
        p_identity_data, p_moments, p_token_hashes, p_user_agents, p_ips, p_audits)
        WITH ORDINALITY AS n (user_id, identity_id, email, phone, aud, role, password_hash, data, identity_data,
          created_at, token_hash, user_agent, ip, audit, item)
      WHERE NOT EXISTS (SELECT FROM {{users}} o
          WHERE lower(o.email) = n.email AND lower(o.email) = ANY (p_emails) AND NOT o.is_sso_user)
        AND NOT EXISTS (SELECT FROM {{users}} o
          WHERE o.phone = n.phone AND o.phone = ANY (p_phones))),
  u AS (
    INSERT INTO {{users}} AS w (id, aud, role, email, phone, encrypted_password, email_confirmed_at,
        phone_confirmed_at, raw_app_meta_data, raw_user_meta_data, last_sign_in_at, created_at, updated_at,
        {{include:blank_columns.sql}})
      SELECT i.user_id, i.aud, i.role, i.email, i.phone, i.password_hash,
          CASE WHEN i.provider = 'email' THEN i.created_at END, CASE WHEN i.provider = 'phone' THEN i.created_at END,
          jsonb_build_object('provider', i.provider, 'providers', jsonb_build_array(i.provider)), i.data::jsonb,
          i.moment, i.created_at, i.moment,
          {{include:blank_values.sql}}
        FROM i ORDER BY i.email, i.phone
      -- The unique index of the email or the phone decides between parallel sign-ups.
      ON CONFLICT DO NOTHING RETURNING w.*),
  identity AS (
    INSERT INTO {{identities}} AS d
        (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
      SELECT i.identity_id, u.id, i.provider, u.id, i.identity_data::jsonb, i.created_at, i.created_at
      FROM u JOIN i ON i.user_id = u.id RETURNING d.*),
  {{include:open_sessions.sql}},
  entry AS (
    INSERT INTO {{audit_log_entries}} (actor_id, target_user_id, session_id, action, log_type, ip_address, payload)
      SELECT s.user_id, s.user_id, NULL::uuid, 'user_signedup', 'team', coalesce(s.ip, ''),
        jsonb_strip_nulls(jsonb_build_object(
          'actor_id', s.user_id, 'actor_username', s.username, 'actor_name', s.name, 'actor_via_sso', s.is_sso_user,
          'action', 'user_signedup', 'log_type', 'team', 'traits', jsonb_build_object('provider', s.provider)))
      FROM s WHERE s.audit)
  SELECT i.item::int, 'signed-in', i.opened_id, 'aal1', i.moment,
      json_build_array(json_build_object('method', 'password', 'timestamp', floor(extract(epoch FROM i.moment))::bigint)),
      json_build_object(
        'user', {{include:user.sql}},
        'identities', (SELECT json_agg(d) FROM identity d WHERE d.user_id = u.id), 'factors', NULL),
      u.id
    FROM u JOIN i ON i.user_id = u.id;
END
$$;
