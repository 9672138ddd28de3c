// Why: a person is invited by e-mail and becomes a member by accepting; each step is one call, the mail is part of it.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

async function createInvitations(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE TABLE ${names.id('invitations')} (
      token_hash bytea NOT NULL,
      merchant_id text COLLATE "C" NOT NULL,
      user_id text COLLATE "C" NOT NULL,
      expires timestamptz(3) NOT NULL,
      used timestamptz(3),
      created timestamptz(3) NOT NULL,
      CONSTRAINT ${names.local('invitations_pk')} PRIMARY KEY (token_hash),
      CONSTRAINT ${names.local('invitations_token_hash_ck')} CHECK (octet_length(token_hash) = 32),
      CONSTRAINT ${names.local('invitations_member_fk')} FOREIGN KEY (merchant_id, user_id)
        REFERENCES ${names.id('merchant_users')} (merchant_id, user_id) ON DELETE CASCADE
    )`.execute(db)
  await sql`
    CREATE INDEX ${names.local('invitations_member_ix')} ON ${names.id('invitations')} (merchant_id, user_id)
  `.execute(db)
}

/** The person of an address, in whatever case it is written; made where there is none. */
async function createUserOfEmail(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('user_of_email')}(p_email text) RETURNS ${names.id('users')}
    LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
      found ${names.id('users')};
    BEGIN
      INSERT INTO ${names.id('users')} (id, email, created)
        SELECT made.id, p_email, made.created FROM ${names.id('new_id')}(${names.id('random_tag')}()) made
        WHERE NOT EXISTS (SELECT FROM ${names.id('users')} u WHERE lower(u.email) = lower(p_email))
        ON CONFLICT DO NOTHING;
      SELECT u.* INTO STRICT found FROM ${names.id('users')} u WHERE lower(u.email) = lower(p_email);
      RETURN found;
    END $$`.execute(db)
}

/**
 * p_email: NULL when only access is to be checked. Who is a member already gets no mail; who is invited already gets another
 * one at most every ten minutes. p_kind and p_payload are the job that sends it.
 */
async function createInviteUser(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('invite_user')}(
      p_caller ${names.id('caller')}, p_merchant_id text, p_email text, p_token_hash bytea, p_kind text, p_payload jsonb
    ) RETURNS TABLE (verdict text, identity_id text, is_member boolean, mailed boolean)
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      claimed record;
      member ${names.id('users')};
      moment timestamptz := date_trunc('milliseconds', clock_timestamp());
      is_pending boolean;
    BEGIN
      mailed := false;
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_access')}(p_caller, p_merchant_id) j;
      IF verdict <> 'done' OR p_email IS NULL THEN RETURN NEXT; RETURN; END IF;
      claimed := ${names.id('claim_key')}(p_caller, p_merchant_id, identity_id);
      IF claimed.verdict <> 'claimed' THEN
        verdict := claimed.verdict;
        is_member := (claimed.held).body;
        RETURN NEXT; RETURN;
      END IF;
      member := ${names.id('user_of_email')}(p_email);
      INSERT INTO ${names.id('merchant_users')} (merchant_id, user_id, pending, invited_by, created)
        VALUES (p_merchant_id, member.id, true, identity_id, moment) ON CONFLICT DO NOTHING;
      IF FOUND THEN
        PERFORM ${names.id('note_event')}(p_merchant_id, 'user.invited', member.id, to_jsonb(member) || '{"pending": true}');
        PERFORM ${names.id('add_audit')}(
          p_merchant_id, identity_id, 'user.invited', jsonb_build_object('userId', member.id)
        );
      END IF;
      SELECT u.pending INTO is_pending FROM ${names.id('merchant_users')} u
        WHERE u.merchant_id = p_merchant_id AND u.user_id = member.id FOR UPDATE;
      is_member := coalesce(NOT is_pending, false);
      IF is_pending AND NOT EXISTS (
        SELECT FROM ${names.id('invitations')} i
        WHERE i.merchant_id = p_merchant_id AND i.user_id = member.id AND i.created > moment - interval '10 minutes'
      ) THEN
        INSERT INTO ${names.id('invitations')} (token_hash, merchant_id, user_id, expires, created)
          VALUES (p_token_hash, p_merchant_id, member.id, moment + interval '14 days', moment);
        PERFORM ${names.id('enqueue')}(p_merchant_id, ${names.id('id_at')}(t.first, t.tag), p_kind, p_payload)
          FROM ${names.id('take_ids')}(p_merchant_id, 1) t;
        mailed := true;
      END IF;
      PERFORM ${names.id('finish_key')}(p_caller, p_merchant_id, identity_id, 201, member.id, NULL, is_member::text);
      RETURN NEXT;
    END $$`.execute(db)
}

/** Invitations that wait for the person go with the membership. */
async function createRevokeUser(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('revoke_user')}(p_caller ${names.id('caller')}, p_merchant_id text, p_user_id text)
    RETURNS TABLE (verdict text, identity_id text)
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      member ${names.id('users')};
      was_pending boolean;
    BEGIN
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_access')}(p_caller, p_merchant_id) j;
      IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
      DELETE FROM ${names.id('merchant_users')} u WHERE u.merchant_id = p_merchant_id AND u.user_id = p_user_id
        RETURNING u.pending INTO was_pending;
      IF FOUND THEN
        SELECT u.* INTO member FROM ${names.id('users')} u WHERE u.id = p_user_id;
        PERFORM ${names.id('note_event')}(
          p_merchant_id, 'user.revoked', p_user_id, to_jsonb(member) || jsonb_build_object('pending', was_pending)
        );
        PERFORM ${names.id('add_audit')}(
          p_merchant_id, identity_id, 'user.revoked', jsonb_build_object('userId', p_user_id)
        );
      ELSE
        verdict := 'not-found';
      END IF;
      RETURN NEXT;
    END $$`.execute(db)
}

/** The membership is locked before the invitation, as where it is revoked. One invitation accepts, and uses up the others. */
async function createAcceptInvitation(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('accept_invitation')}(p_token_hash bytea) RETURNS void
    LANGUAGE plpgsql VOLATILE AS $$
    DECLARE
      held record;
      moment timestamptz := date_trunc('milliseconds', clock_timestamp());
    BEGIN
      SELECT u.merchant_id, u.user_id INTO held FROM ${names.id('invitations')} i
        JOIN ${names.id('merchant_users')} u ON u.merchant_id = i.merchant_id AND u.user_id = i.user_id
        WHERE i.token_hash = p_token_hash FOR UPDATE OF u;
      PERFORM FROM ${names.id('invitations')} i
        WHERE i.token_hash = p_token_hash AND i.used IS NULL AND i.expires > moment;
      IF NOT FOUND THEN RETURN; END IF;
      UPDATE ${names.id('invitations')} i SET used = moment
        WHERE i.merchant_id = held.merchant_id AND i.user_id = held.user_id AND i.used IS NULL;
      UPDATE ${names.id('merchant_users')} u SET pending = false
        WHERE u.merchant_id = held.merchant_id AND u.user_id = held.user_id;
      PERFORM ${names.id('add_audit')}(
        held.merchant_id, held.user_id, 'user.accepted', jsonb_build_object('userId', held.user_id)
      );
    END $$`.execute(db)
}

export const createUserMembers: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    await createInvitations(db, names)
    await createUserOfEmail(db, names)
    await createInviteUser(db, names)
    await createRevokeUser(db, names)
    await createAcceptInvitation(db, names)
  },
  async down(db: Kysely<unknown>) {
    const caller = names.id('caller')
    await sql`DROP FUNCTION ${names.id('accept_invitation')}(bytea)`.execute(db)
    await sql`DROP FUNCTION ${names.id('revoke_user')}(${caller}, text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('invite_user')}(${caller}, text, text, bytea, text, jsonb)`.execute(db)
    await sql`DROP FUNCTION ${names.id('user_of_email')}(text)`.execute(db)
    await sql`DROP TABLE ${names.id('invitations')}`.execute(db)
  },
})
