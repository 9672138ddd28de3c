import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { createSignUp } from './0021-create-sign-up.ts'

// The function of 0021 looked for a staged row by `email = … OR phone = …` before each insert: on a table that is not yet
// analysed that is a walk through all users. Now the insert comes first; who has the identifier is looked for by one key,
// and only when somebody has it. All else is as it was.
export const signUpByKey: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createSignUp(names).down?.(db)
    await sql`
      CREATE FUNCTION ${names.id('sign_up')}(
        p_user_id uuid, p_identity_id uuid, p_email text, p_phone text, p_aud text, p_role text,
        p_password_hash text, p_data jsonb, p_identity_data jsonb, p_now timestamptz, p_confirmed boolean,
        p_interval_key bytea, p_interval_kind text, p_due_before timestamptz,
        p_token_kind text, p_link_hash bytea, p_code_hash bytea, p_code_salt bytea, p_expires_at timestamptz,
        p_challenge text, p_challenge_method text, p_message jsonb, p_message_again jsonb,
        p_token_hash bytea, p_user_agent text, p_ip text, p_audit boolean,
        OUT verdict text, OUT session_id uuid, OUT aal text, OUT started_at timestamptz, OUT amr json,
        OUT profile json, OUT actor_id uuid
      ) LANGUAGE plpgsql SET plan_cache_mode = 'force_generic_plan' SET enable_seqscan = 'off' AS $$
      DECLARE
        provider text := CASE WHEN p_email IS NOT NULL THEN 'email' WHEN p_phone IS NOT NULL THEN 'phone' END;
        holder ${names.id('users')};
        is_new boolean;
        is_due boolean := false;
        flow uuid;
        opened record;
      BEGIN
        ${noteInterval(names)}
        ${findOrMakeUser(names)}
        verdict := CASE
          WHEN is_new AND p_confirmed THEN 'signed-in'
          WHEN is_new THEN 'sent'
          WHEN p_confirmed THEN 'taken'
          WHEN is_due AND CASE provider WHEN 'email' THEN holder.email_confirmed_at ELSE holder.phone_confirmed_at END IS NULL
            THEN 'sent-again'
          ELSE 'repeated' END;
        ${writeIdentityAndToken(names)}
        ${writeMessageAndAudit(names)}
        ${openSession(names)}
      END $$`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await createSignUp(names).down?.(db)
    await createSignUp(names).up(db)
  },
})

/** A fresh signup does not wait for the interval, but notes it no differently than a duplicate does. */
function noteInterval(names: Names): RawBuilder<unknown> {
  return sql`
        IF NOT p_confirmed THEN
          INSERT INTO ${names.id('send_throttle')} AS t (key_hash, kind, sent_at)
            VALUES (p_interval_key, p_interval_kind, p_now)
            ON CONFLICT (key_hash, kind) DO UPDATE SET sent_at = p_now WHERE t.sent_at <= p_due_before;
          is_due := FOUND;
        END IF;`
}

/**
 * A row that only waits for its first one-time code makes way. The loop ends at its first or third statement but for a holder
 * who comes or goes meanwhile.
 */
function findOrMakeUser(names: Names): RawBuilder<unknown> {
  const users = names.id('users')
  return sql`
        LOOP
          INSERT INTO ${users} AS u (id, aud, role, email, phone, encrypted_password, email_confirmed_at, phone_confirmed_at,
              confirmation_sent_at, raw_app_meta_data, raw_user_meta_data, is_anonymous, created_at, updated_at)
            VALUES (p_user_id, p_aud, p_role, p_email, p_phone, p_password_hash,
              CASE WHEN p_confirmed AND provider = 'email' THEN p_now END,
              CASE WHEN p_confirmed AND provider = 'phone' THEN p_now END,
              CASE WHEN NOT p_confirmed THEN p_now END,
              CASE WHEN provider IS NULL THEN '{}'
                ELSE jsonb_build_object('provider', provider, 'providers', jsonb_build_array(provider)) END,
              p_data, provider IS NULL, p_now, p_now)
            ON CONFLICT DO NOTHING RETURNING u.* INTO holder;
          is_new := FOUND;
          EXIT WHEN is_new;
          SELECT u.* INTO holder FROM ${users} u
            WHERE u.id = (SELECT e.id FROM ${users} e WHERE e.email = p_email
              UNION ALL SELECT t.id FROM ${users} t WHERE t.phone = p_phone)
            FOR NO KEY UPDATE;
          EXIT WHEN FOUND AND holder.staged_at IS NULL;
          DELETE FROM ${users} u WHERE u.id = holder.id AND u.staged_at IS NOT NULL;
        END LOOP;
        actor_id := holder.id;`
}

function writeIdentityAndToken(names: Names): RawBuilder<unknown> {
  return sql`
        IF is_new AND provider IS NOT NULL THEN
          INSERT INTO ${names.id('identities')}
              (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
            VALUES (p_identity_id, p_user_id, provider, p_user_id, p_identity_data, p_now, p_now);
        END IF;
        IF verdict = 'sent' THEN
          IF p_challenge IS NOT NULL THEN
            INSERT INTO ${names.id('flow_state')}
                (user_id, provider_type, authentication_method, code_challenge, code_challenge_method, created_at)
              VALUES (p_user_id, 'email', 'email/signup', p_challenge, p_challenge_method, p_now) RETURNING id INTO flow;
          END IF;
          INSERT INTO ${names.id('one_time_tokens')}
              (user_id, kind, relates_to, link_hash, otp_hash, otp_salt, flow_state_id, sent_at, expires_at)
            VALUES (p_user_id, p_token_kind, coalesce(p_email, p_phone), p_link_hash, p_code_hash, p_code_salt, flow, p_now,
              p_expires_at);
        END IF;`
}

function writeMessageAndAudit(names: Names): RawBuilder<unknown> {
  return sql`
        INSERT INTO ${names.id('outbox')} (task, data)
          SELECT m.message ->> 'task', m.message -> 'data'
          FROM (SELECT CASE verdict WHEN 'sent' THEN p_message WHEN 'sent-again' THEN p_message_again END AS message) m
          WHERE m.message IS NOT NULL;
        IF p_audit THEN
          INSERT INTO ${names.id('audit_log_entries')} (actor_id, target_user_id, action, log_type, ip_address, payload)
            SELECT holder.id, holder.id, e.action, e.log_type, coalesce(p_ip, ''), ${names.id('audit_payload')}(
              holder, e.action, e.log_type, jsonb_build_object('provider', coalesce(provider, 'anonymous')))
            FROM (VALUES ('user_signedup', 'team', verdict = 'signed-in'),
              ('user_confirmation_requested', 'user', verdict = 'sent'),
              ('user_repeated_signup', 'user', NOT is_new)) AS e (action, log_type, due)
            WHERE e.due;
        END IF;`
}

function openSession(names: Names): RawBuilder<unknown> {
  return sql`
        IF verdict = 'signed-in' THEN
          SELECT c.* INTO opened FROM ${names.id('create_session')}(
            p_user_id, p_token_hash, CASE WHEN provider IS NULL THEN 'anonymous' ELSE 'password' END, p_user_agent, p_ip) c;
          session_id := opened.session_id;
          aal := opened.aal;
          started_at := opened.started_at;
          amr := opened.amr;
          profile := opened.profile;
        END IF;`
}
