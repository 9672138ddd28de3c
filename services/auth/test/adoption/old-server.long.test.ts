import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { forgetAdoption, undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { type Restored, restoreAdopted } from './adopted-app.ts'
import { readTables, runSql, VERSIONS, type Version } from './restored-database.ts'

const NIL = '00000000-0000-0000-0000-000000000000'
const NEW = '11111111-1111-4111-8111-111111111111'

/** The statements of a transaction of supabase/auth, as it sends them. */
type Transaction = readonly string[]

const auditEntry = `INSERT INTO audit_log_entries (created_at, id, instance_id, ip_address, payload)
  VALUES (now(), gen_random_uuid(), '${NIL}', '192.0.2.1', '{"action": "login"}')`
const openSession = (userId: string): Transaction => [
  `INSERT INTO sessions (aal, created_at, factor_id, id, ip, not_after, refreshed_at, tag, updated_at, user_agent, user_id)
   VALUES ('aal1', now(), NULL, '${NEW}', '192.0.2.1', NULL, NULL, NULL, now(), 'client', '${userId}')`,
  `INSERT INTO refresh_tokens (created_at, instance_id, parent, revoked, session_id, token, updated_at, user_id)
   VALUES (now(), '${NIL}', '', false, '${NEW}', 'a-new-token', now(), '${userId}') RETURNING id`,
  `UPDATE users AS users SET last_sign_in_at = now(), updated_at = now() WHERE users.id = '${userId}'`,
]
const insertUser = `INSERT INTO users (aud, created_at, email, email_change, email_change_confirm_status, encrypted_password, id,
    instance_id, phone, raw_app_meta_data, raw_user_meta_data, role, updated_at)
  VALUES ('authenticated', now(), 'late@example.com', '', 0, '$2a$10$abcdefghijklmnopqrstuv', '${NEW}', '${NIL}', NULL, '{}', '{}',
    'authenticated', now())`

/** The transactions of an old server, by kind of request. Versions differ in the order of statements. */
function transactionsFor({
  user,
  token,
}: Readonly<Record<'user' | 'token', string>>): Readonly<Record<string, Transaction>> {
  return {
    'a sign-in that is logged first': [auditEntry, ...openSession(user)],
    'a sign-in that is not logged': openSession(user),
    'a refresh that finds the token': [
      `SELECT * FROM refresh_tokens WHERE token = '${token}' LIMIT 1 FOR UPDATE SKIP LOCKED`,
    ],
    'a refresh that revokes the token': [
      `UPDATE refresh_tokens AS refresh_tokens SET revoked = true WHERE refresh_tokens.token = '${token}'`,
    ],
    'a sign-up of today': [
      insertUser,
      `INSERT INTO identities (created_at, id, identity_data, last_sign_in_at, provider, provider_id, updated_at, user_id)
       VALUES (now(), gen_random_uuid(), '{}', now(), 'email', '${NEW}', now(), '${NEW}')`,
      auditEntry,
    ],
    'a sign-up of versions before 2.117': [
      insertUser,
      `INSERT INTO identities (created_at, id, identity_data, last_sign_in_at, provider, updated_at, user_id)
       VALUES (now(), '${NEW}', '{}', now(), 'email', now(), '${NEW}')`,
      auditEntry,
    ],
    'a change of metadata': [
      `UPDATE users AS users SET raw_user_meta_data = '{"n": 1}', updated_at = now() WHERE users.id = '${user}'`,
      auditEntry,
    ],
    'a one-time code': [
      `UPDATE users AS users SET recovery_token = 'a-hash', recovery_sent_at = now() WHERE users.id = '${user}'`,
      `INSERT INTO one_time_tokens (created_at, id, relates_to, token_hash, token_type, updated_at, user_id)
       VALUES (now(), gen_random_uuid(), 'a@example.com', 'a-hash', 'recovery_token', now(), '${user}')`,
    ],
    'a sign-out': [auditEntry, `DELETE FROM sessions WHERE user_id = '${user}'`],
  }
}

/** Transactions that use no moved table: refresh tokens of form 2 and GOTRUE_AUDIT_LOG_DISABLE_POSTGRES=true. */
function unloggedFor(user: string, session: string): Readonly<Record<string, Transaction>> {
  return {
    'a sign-in': [
      `INSERT INTO "sessions" ("aal", "created_at", "id", "refresh_token_counter", "refresh_token_hmac_key", "updated_at", "user_id")
       VALUES ('aal1', now(), '${NEW}', 0, 'a-key', now(), '${user}')`,
      `INSERT INTO "mfa_amr_claims"(id, session_id, created_at, updated_at, authentication_method)
       VALUES (gen_random_uuid(), '${NEW}', now(), now(), 'password')`,
      `UPDATE "users" AS users SET "last_sign_in_at" = now(), "updated_at" = now() WHERE users.id = '${user}'`,
    ],
    'a refresh': [
      `UPDATE "sessions" AS sessions SET "refresh_token_counter" = 7, "refreshed_at" = now() WHERE sessions.id = '${session}'`,
    ],
    'a refresh with a token that was used': [
      `UPDATE "sessions" AS sessions SET "refreshed_at" = now(), "updated_at" = now() WHERE sessions.id = '${session}'`,
    ],
    'a refresh with a token that was used long ago': [`DELETE FROM sessions WHERE id = '${session}'`],
    'a sign-out': [`DELETE FROM sessions WHERE user_id = '${user}'`],
    'a sign-up': [insertUser],
    'an identity that is refreshed': [
      `update identities set identity_data = '{"name": "A"}' where user_id = '${user}'`,
    ],
    'a change of metadata': [
      `UPDATE "users" AS users SET "raw_user_meta_data" = '{"n": 1}', "updated_at" = now() WHERE users.id = '${user}'`,
    ],
    'a factor that is verified': [
      `UPDATE "mfa_factors" AS mfa_factors SET "status" = 'verified' WHERE mfa_factors.user_id = '${user}'`,
    ],
    'a passkey that signs in': [`UPDATE "webauthn_credentials" SET "last_used_at" = now()`],
    'a clean-up of sessions': [
      'delete from "sessions" where id in (select id from "sessions" where not_after is null limit 10 for update skip locked)',
    ],
    'a clean-up of flows': [
      'delete from "flow_state" where id in (select id from "flow_state" limit 100 for update skip locked)',
    ],
    'a deletion of a user': [`DELETE FROM "users" AS users WHERE users.id = '${user}'`],
    'a migration of a newer version': [
      'ALTER TABLE auth.users ADD COLUMN IF NOT EXISTS nickname text',
      "insert into schema_migrations (version) values ('20990101000000')",
    ],
  }
}

/** Returns all rows of the service and of the moved tables. */
async function readRows({ database: { superuserUrl: url } }: Restored) {
  const tables = await runSql<{ name: string }>(
    url,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname ~ '^auth' ORDER BY 1`,
  )
  const selects = tables.map(({ name }) => [name, `SELECT t::text FROM ${name} t ORDER BY 1`])
  return readTables(url, Object.fromEntries(selects))
}

/** Runs a transaction as the old server does: as the owner, with `auth` in the search path. */
async function runOld({ database: { url } }: Restored, statements: Transaction): Promise<string> {
  const client = new pg.Client({ connectionString: `${url}?options=-csearch_path%3Dauth` })
  await client.connect()
  try {
    await client.query('BEGIN')
    for (const statement of statements) await client.query(statement)
    await client.query('COMMIT')
    return 'committed'
  } catch (error) {
    await client.query('ROLLBACK')
    return error instanceof pg.DatabaseError && error.code === 'PT503'
      ? 'refused by a trigger'
      : 'refused for what it says'
  } finally {
    await client.end()
  }
}

/** An adopted database with a user who has a session. */
async function adoptWithUser(version: Version) {
  const restored = await restoreAdopted(version)
  const plain = restored.database.manifest.users.find(({ name }) => name === 'plain')
  const [user = '', last] = [plain?.id, plain?.sessions.at(-1)]
  return { restored, user, token: last?.refresh_token ?? '', session: last?.session_id ?? '' }
}

describe.each(VERSIONS)('an old server that is started again on an adopted database of %s', (version) => {
  it('signs nobody in, and changes no row', async () => {
    const { restored, user, token, session } = await adoptWithUser(version)
    const before = await readRows(restored)
    for (const [request, statements] of Object.entries(transactionsFor({ user, token }))) {
      expect([request, await runOld(restored, statements)]).toEqual([request, expect.stringMatching(/^refused/)])
    }
    for (const [request, statements] of Object.entries(unloggedFor(user, session))) {
      expect([request, await runOld(restored, statements)]).toEqual([request, 'refused by a trigger'])
    }
    expect(await readRows(restored)).toEqual(before)
  })
})

describe('what an old server may not do', () => {
  it('is refused with the SQLSTATE PT503, which recent versions pass on as 503', async () => {
    const { restored, user } = await adoptWithUser('v2.196.0')
    const refusal = await runSql(restored.database.url, `DELETE FROM sessions WHERE user_id = '${user}'`).then(
      () => 'none',
      ({ code, message }: pg.DatabaseError) => [code, message],
    )
    expect(refusal).toEqual([
      'PT503',
      'auth has adopted this database: stop the server of supabase/auth that still runs',
    ])
  })

  it('is allowed to other roles, to statements that name the schema, and to the old server after undo', async () => {
    const { restored, user } = await adoptWithUser('v2.196.0')
    const { url, superuserUrl } = restored.database
    const change = `users SET raw_app_meta_data = raw_app_meta_data || '{"n": 1}' WHERE id = '${user}' RETURNING id`
    expect(await runSql(`${superuserUrl}?options=-csearch_path%3Dauth`, `UPDATE ${change}`)).toEqual([{ id: user }])
    expect(await runSql(url, `UPDATE auth.${change}`)).toEqual([{ id: user }])
    await undoAdoption(restored.deps, async () => true)
    expect(await runSql(url, `UPDATE ${change}`)).toEqual([{ id: user }])
  })

  it('stays refused after adopt --forget', async () => {
    const { restored, user } = await adoptWithUser('v2.196.0')
    await forgetAdoption(restored.deps, async () => true)
    expect(await runOld(restored, [`DELETE FROM sessions WHERE user_id = '${user}'`])).toBe('refused by a trigger')
  })
})
