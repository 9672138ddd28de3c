// Why: members saw the shared record of whoever they invited. Its id and date told that another merchant had invited the address.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'
import { anySpacing, editFunction } from './edit-function.ts'

/** Places in the functions of 0048, each with what takes its place. */
function editsOf({ schema, prefix }: Names) {
  const id = (name: string) => `"${schema}"."${prefix}${name}"`
  // As a whole: a function in which some of its variables are undeclared is refused.
  const revocation = (parts: Readonly<Record<'variables' | 'isMeant' | 'returning' | 'event' | 'userId', string>>) => `
      ${parts.variables}
    BEGIN
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${id('judge_access')}(p_caller, p_merchant_id) j;
      IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
      DELETE FROM ${id('merchant_users')} u WHERE u.merchant_id = p_merchant_id AND ${parts.isMeant}
        RETURNING ${parts.returning};
      IF FOUND THEN
        ${parts.event}
        PERFORM ${id('add_audit')}(
          p_merchant_id, identity_id, 'user.revoked', jsonb_build_object('userId', ${parts.userId})
        );`
  return [
    {
      name: 'invite_user',
      before: 'is_pending boolean;',
      after: `is_pending boolean;
      drawn record;
      added ${id('merchant_users')};`,
    },
    {
      name: 'invite_user',
      before: `INSERT INTO ${id('merchant_users')} (merchant_id, user_id, pending, invited_by, created)
        VALUES (p_merchant_id, member.id, true, identity_id, moment) ON CONFLICT DO NOTHING;
      IF FOUND THEN
        PERFORM ${id('note_event')}(p_merchant_id, 'user.invited', member.id, to_jsonb(member) || '{"pending": true}');`,
      after: `drawn := ${id('new_id')}(${id('random_tag')}());
      INSERT INTO ${id('merchant_users')} (merchant_id, user_id, member_id, email, pending, invited_by, created)
        VALUES (p_merchant_id, member.id, drawn.id, p_email, true, identity_id, drawn.created) ON CONFLICT DO NOTHING
        RETURNING * INTO added;
      IF FOUND THEN
        PERFORM ${id('note_event')}(p_merchant_id, 'user.invited', added.member_id, ${id('user_member')}(added));`,
    },
    {
      name: 'revoke_user',
      before: revocation({
        variables: `member ${id('users')};
      was_pending boolean;`,
        isMeant: 'u.user_id = p_user_id',
        returning: 'u.pending INTO was_pending',
        event: `SELECT u.* INTO member FROM ${id('users')} u WHERE u.id = p_user_id;
        PERFORM ${id('note_event')}(
          p_merchant_id, 'user.revoked', p_user_id, to_jsonb(member) || jsonb_build_object('pending', was_pending)
        );`,
        userId: 'p_user_id',
      }),
      after: revocation({
        variables: `ended ${id('merchant_users')};`,
        // A member may also be named by their own id: they know no other of themselves.
        isMeant: '(coalesce(u.member_id, u.user_id) = p_user_id OR u.user_id = p_user_id AND NOT u.pending)',
        returning: 'u.* INTO ended',
        event: `PERFORM ${id('note_event')}(
          p_merchant_id, 'user.revoked', coalesce(ended.member_id, ended.user_id), ${id('user_member')}(ended)
        );`,
        userId: 'ended.user_id',
      }),
    },
    // The counter within ids is common to all: it must not tell whether a user was made.
    {
      name: 'user_of_email',
      before: `found ${id('users')};`,
      after: `found ${id('users')};
      drawn record := ${id('new_id')}(${id('random_tag')}());`,
    },
    {
      name: 'user_of_email',
      before: `SELECT made.id, p_email, made.created FROM ${id('new_id')}(${id('random_tag')}()) made
        WHERE NOT EXISTS`,
      after: `SELECT drawn.id, p_email, drawn.created
        WHERE NOT EXISTS`,
    },
  ]
}

/** A user as the members of a merchant see them: nothing of their record that they did not tell, until they accept. */
async function createUserMember(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('user_member')}(p_member ${names.id('merchant_users')}) RETURNS jsonb
    LANGUAGE sql STABLE AS $$
      SELECT jsonb_build_object(
        'id', coalesce(p_member.member_id, u.id),
        'email', coalesce(p_member.email, u.email),
        'name', CASE WHEN NOT p_member.pending THEN u.name END,
        'created', CASE WHEN p_member.member_id IS NULL THEN u.created ELSE p_member.created END,
        'pending', p_member.pending
      ) FROM ${names.id('users')} u WHERE u.id = p_member.user_id
    $$`.execute(db)
}

export const nameMemberships: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    const table = names.id('merchant_users')
    await sql`ALTER TABLE ${table} ADD COLUMN member_id text COLLATE "C", ADD COLUMN email text`.execute(db)
    await sql`
      CREATE UNIQUE INDEX ${names.local('merchant_users_member_uq')}
        ON ${table} (merchant_id, coalesce(member_id, user_id))`.execute(db)
    await sql`
      COMMENT ON COLUMN ${table}.member_id IS
        'What members of the merchant see as the id of the user; null where it is the user''s own: whoever made the merchant, and who was invited before there was one'
    `.execute(db)
    await sql`
      COMMENT ON COLUMN ${table}.email IS 'The address as the merchant wrote it; null as member_id'`.execute(db)
    await createUserMember(db, names)
    for (const { name, before, after } of editsOf(names)) {
      await editFunction(db, names, { name, from: anySpacing(before), to: after })
    }
  },
  async down(db: Kysely<unknown>) {
    for (const { name, before, after } of editsOf(names).toReversed()) {
      await editFunction(db, names, { name, from: anySpacing(after), to: before })
    }
    const table = names.id('merchant_users')
    await sql`DROP FUNCTION ${names.id('user_member')}(${table})`.execute(db)
    await sql`DROP INDEX ${names.id('merchant_users_member_uq')}`.execute(db)
    await sql`ALTER TABLE ${table} DROP COLUMN member_id, DROP COLUMN email`.execute(db)
  },
})
