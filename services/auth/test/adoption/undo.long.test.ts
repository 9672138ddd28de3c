import { randomUUID } from 'node:crypto'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { readCatalogue } from '@trestle/database/rehearsal/drift.ts'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { forgetAdoption, undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { BY_COMMAND } from '../../src/commands/operator-deps.ts'
import { deleteCustomProvider } from '../../src/external-providers/custom-provider-repository.ts'
import { createEncryptionKeys, readUpstreamSecret } from '../../src/secrets/encrypted-secret.ts'
import { changeCustomProvider, createCustomProvider } from '../../src/use-cases/manage-custom-providers.ts'
import { errorBody, refusalsIn, statusAndBody } from '../bodies.ts'
import { forge, hmac } from '../forged-token.ts'
import { adopt, openAdopted, prepare, type Restored, restore, restoreAdopted } from './adopted-app.ts'
import { plainSession, plainSignIn } from './plain-user.ts'
import { readTables, runSql, VERSIONS, type Version } from './restored-database.ts'

const SCHEMAS = ['auth', 'public']

/** Returns all objects of the database, and the rows of every table in the order of their text. */
async function readAll({ database }: Restored) {
  const url = database.superuserUrl
  const catalogues = await withDatabase({ url }, (db) =>
    db.transaction().execute(async (trx) => {
      const found: [string, unknown][] = []
      for (const schema of SCHEMAS) found.push([schema, [...(await readCatalogue(trx, { schema, prefix: '' }))].sort()])
      return found
    }),
  )
  const tables = await runSql<{ name: string }>(
    url,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  )
  const selects = tables.map(({ name }) => [name, `SELECT t::text FROM ${name} t ORDER BY 1`])
  const rows = await readTables(url, Object.fromEntries(selects))
  const rights = await runSql(
    url,
    `SELECT nspname AS name, nspacl::text AS rights FROM pg_namespace WHERE nspname !~ '^pg_' UNION ALL
     SELECT proname, array_remove(proacl, makeaclitem(0, proowner, 'EXECUTE', false))::text FROM pg_proc
     WHERE pronamespace = 'auth'::regnamespace UNION ALL
     SELECT extname, '' FROM pg_extension ORDER BY 1, 2`,
  )
  return { catalogues, rows, rights }
}

/** Returns the content of a version's database as `restore` creates it. Each version is read once. */
function readBefore(version: Version): ReturnType<typeof readAll> {
  const read = before.get(version) ?? restore(version).then(readAll)
  before.set(version, read)
  return read
}

const before = new Map<Version, ReturnType<typeof readAll>>()

const undo = ({ deps }: Restored) => undoAdoption(deps, async () => true)

/** The costs of an undo if users have enrolled nothing here. */
const NO_LOSSES = {
  factors: { phones: 0, keys: 0, bareUsers: 0 },
  passkeys: 0,
  recoveryCodes: 0,
  spoilt: [],
  operators: 0,
  phoneValueKeptBy: [],
} as const

/** The `encrypted_password` of users without a password, by version. */
const NO_PASSWORD = {
  'v2.43.1': '',
  'v2.101.0': '',
  'v2.151.0': '',
  'v2.196.0': null,
  'v2.196.0-encrypted': null,
} as const

describe.each(VERSIONS)('adopt --undo on %s', (version) => {
  it('restores every object and every row, before this service has served', async () => {
    const restored = await restoreAdopted(version)
    expect(await undo(restored)).toBe(true)
    expect(await readAll(restored)).toEqual(await readBefore(version))
  })

  it('keeps users, passwords, their lack and factors of the meantime, and ends the sessions that have refreshed', async () => {
    const restored = await restoreAdopted(version)
    const app = await openAdopted(restored)
    const plain = app.user('plain')
    const [used] = plain?.sessions ?? []
    const [kept] = app.user('phone')?.sessions ?? []
    const refreshed = await app.post('/token?grant_type=refresh_token', { refresh_token: used?.refresh_token })
    const headers = { authorization: `Bearer ${refreshed.json().access_token}` }
    const password = 'a new horse of mine'
    const changed = await app.app.inject({ method: 'PUT', url: '/user', headers, payload: { password } })
    const enrolled = await app.app.inject({
      method: 'POST',
      url: '/factors',
      headers,
      payload: { factor_type: 'totp', friendly_name: 'since' },
    })
    const made = await app.post('/signup', { email: 'since@example.com', password })
    const anonymous = await app.post('/signup', {})
    expect(refusalsIn([refreshed, changed, enrolled, made, anonymous])).toEqual([])
    const url = restored.database.superuserUrl
    const [{ all } = { all: 0 }] = await runSql<{ all: number }>(url, 'SELECT count(*)::int AS all FROM auth.sessions')
    expect(all).toBeGreaterThan(2)
    const costs: unknown[] = []
    await undoAdoption(restored.deps, async (each) => costs.push(each) > 0)
    const sessions = { ended: 3, all }
    expect(costs).toEqual([{ hasSwitched: true, sessions, passwords: 0, providers: [], ...NO_LOSSES }])
    expect(
      await runSql(
        url,
        `SELECT email FROM auth.users WHERE email = 'since@example.com'
           OR (id = '${plain?.id}' AND encrypted_password LIKE '$2a$10$%') ORDER BY email`,
      ),
    ).toEqual([{ email: plain?.email }, { email: 'since@example.com' }])
    expect(
      await runSql(
        url,
        `SELECT encrypted_password AS password FROM auth.users WHERE id = '${anonymous.json().user.id}'`,
      ),
    ).toEqual([{ password: NO_PASSWORD[version] }])
    const [factor] = await runSql<{ secret: string }>(
      url,
      `SELECT secret FROM auth.mfa_factors WHERE id = '${enrolled.json().id}'`,
    )
    const isEncrypted = restored.database.manifest.encryption !== undefined
    expect(isEncrypted ? JSON.parse(factor?.secret ?? '').key_id : factor?.secret).toBe(
      isEncrypted ? 'key-1' : enrolled.json().totp.secret,
    )
    expect(
      await runSql(url, `SELECT session_id FROM auth.refresh_tokens WHERE session_id = '${used?.session_id}'`),
    ).toEqual([])
    if (!isEncrypted) {
      expect(
        await runSql(
          url,
          `SELECT token FROM auth.refresh_tokens WHERE session_id = '${kept?.session_id}' AND NOT revoked`,
        ),
      ).toEqual([{ token: kept?.refresh_token }])
    }
  })
})

it('adopt --undo gives back the room that an operator has set for the pages of a table', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  const readRoom = () =>
    runSql(
      superuserUrl,
      `SELECT relname AS name, reloptions AS options FROM pg_class WHERE relnamespace = 'auth'::regnamespace
        AND relname IN ('users', 'identities', 'sessions') ORDER BY relname`,
    )
  await runSql(
    superuserUrl,
    `ALTER TABLE auth.users SET (fillfactor = 70); ALTER TABLE auth.identities SET (fillfactor = 80)`,
  )
  const before = [
    { name: 'identities', options: ['fillfactor=80'] },
    { name: 'sessions', options: null },
    { name: 'users', options: ['fillfactor=70'] },
  ]
  expect(await readRoom()).toEqual(before)
  await adopt(restored)
  expect(await readRoom()).toEqual(before.with(1, { name: 'sessions', options: ['fillfactor=80'] }))
  expect(await undo(restored)).toBe(true)
  expect(await readRoom()).toEqual(before)
})

it('adopt --undo gives the audit log back without new entries where a rule kept the old service from writing any', async () => {
  const restored = await restore('v2.196.0')
  const url = restored.database.superuserUrl
  await runSql(url, 'CREATE RULE quiet AS ON INSERT TO auth.audit_log_entries DO INSTEAD NOTHING')
  const entries = () => runSql(url, 'SELECT id FROM auth.audit_log_entries ORDER BY id')
  const before = await entries()
  await adopt(restored)
  const { post, user } = await openAdopted(restored)
  const { email, password } = user('plain') ?? {}
  expect(statusAndBody(await post('/token?grant_type=password', { email, password }))).toEqual([
    200,
    plainSignIn(user('plain')),
  ])
  expect(await undo(restored)).toBe(true)
  expect(await entries()).toEqual(before)
})

/** Columns that models of supabase/auth 2.196 (`internal/models`) read into a `string`, an `int` or a `time.Time`. */
const NEVER_NULL = {
  users: [
    'aud',
    'role',
    'confirmation_token',
    'recovery_token',
    'email_change_token_current',
    'email_change_token_new',
    'email_change',
    'email_change_confirm_status',
    'phone_change_token',
    'phone_change',
    'reauthentication_token',
    'created_at',
    'updated_at',
  ],
  identities: ['provider_id', 'provider', 'created_at', 'updated_at'],
  sessions: ['created_at', 'updated_at'],
  mfa_factors: ['status', 'friendly_name', 'secret', 'factor_type', 'created_at', 'updated_at'],
  mfa_amr_claims: ['created_at', 'updated_at'],
  one_time_tokens: ['token_type', 'token_hash', 'relates_to', 'created_at', 'updated_at'],
  refresh_tokens: ['token', 'revoked', 'created_at', 'updated_at', 'instance_id'],
  flow_state: [
    'authentication_method',
    'provider_type',
    'provider_access_token',
    'provider_refresh_token',
    'created_at',
    'updated_at',
  ],
  webauthn_credentials: ['attestation_type', 'sign_count', 'backup_eligible', 'backed_up', 'friendly_name'],
  audit_log_entries: ['created_at', 'ip_address'],
} as const

const STAYING = ['users', 'identities', 'sessions', 'mfa_factors', 'mfa_amr_claims'] as const
const MOVED = ['one_time_tokens', 'refresh_tokens', 'flow_state', 'webauthn_credentials', 'audit_log_entries'] as const

/** Lists the columns above that contain NULL in some row. supabase/auth never reads a user without an instance. */
async function listNulls(
  { database: { superuserUrl } }: Restored,
  tables: readonly (keyof typeof NEVER_NULL)[],
): Promise<readonly string[]> {
  const selects = tables.flatMap((table) =>
    NEVER_NULL[table].map(
      (column) =>
        `SELECT '${table}.${column}' AS "column" WHERE EXISTS (SELECT FROM auth.${table} WHERE ${column} IS NULL
           ${table === 'users' ? 'AND instance_id IS NOT NULL' : ''})`,
    ),
  )
  const rows = await runSql<{ column: string }>(superuserUrl, selects.join(' UNION ALL '))
  return rows.map(({ column }) => column)
}

describe('what supabase/auth cannot read as NULL', () => {
  it('is never NULL after adopt --undo, in the rows of users whom admins and they themselves have changed', async () => {
    const restored = await restoreAdopted('v2.196.0')
    const secret = hmac(restored.database.manifest.jwt_secret)
    const operator = { authorization: `Bearer ${forge({ alg: 'HS256' }, { role: 'service_role' }, secret)}` }
    const { app, post, user } = await openAdopted(restored, {
      AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
      AUTH_MFA_WEBAUTHN_ENROLL_ENABLED: 'true',
    })
    const change = (id: string | undefined, payload: object) =>
      app.inject({ method: 'PUT', url: `/admin/users/${id}`, headers: operator, payload })
    const password = 'a new horse of mine'
    const answers = [
      await change(user('plain')?.id, { email: 'changed@example.com' }),
      await change(user('phone')?.id, { phone: '+33612345670' }),
      await change(user('totp')?.id, { email: 'confirmed@example.com', email_confirm: true, phone: '+33612345671' }),
      await post('/admin/users', { email: 'made@example.com', email_confirm: true, password }, operator),
      await post('/token?grant_type=password', { email: 'made@example.com', password }),
    ]
    const headers = { authorization: `Bearer ${answers.at(-1)?.json().access_token}` }
    for (const payload of [
      { factor_type: 'phone', friendly_name: 'phone', phone: '+33612345672' },
      { factor_type: 'webauthn', friendly_name: 'key' },
      { factor_type: 'totp' },
    ])
      answers.push(await app.inject({ method: 'POST', url: '/factors', headers, payload }))
    expect(answers.filter(({ statusCode }) => statusCode !== 200).map(({ body }) => body)).toEqual([])
    // Until undo, the secret of an authenticator app is in another column, and other factors have none.
    expect(await listNulls(restored, STAYING)).toEqual(['mfa_factors.secret'])
    await undo(restored)
    expect(await listNulls(restored, [...STAYING, ...MOVED])).toEqual([])
  })

  it('is filled by adopt --undo where earlier builds and seed files have left NULL', async () => {
    const restored = await restoreAdopted('v2.196.0')
    const url = restored.database.superuserUrl
    const id = restored.database.manifest.users.find(({ name }) => name === 'plain')?.id
    const blank = {
      confirmation_token: '',
      recovery_token: '',
      email_change_token_current: '',
      email_change_token_new: '',
      email_change: '',
      email_change_confirm_status: 0,
      phone_change_token: '',
      phone_change: '',
      reauthentication_token: '',
    }
    const columns = Object.keys(blank)
    await runSql(
      url,
      `UPDATE auth.users SET ${columns.map((column) => `${column} = NULL`).join(', ')} WHERE id = '${id}'`,
    )
    await undo(restored)
    expect(await runSql(url, `SELECT ${columns.join(', ')} FROM auth.users WHERE id = '${id}'`)).toEqual([blank])
    expect(await listNulls(restored, STAYING)).toEqual([])
  })
})

describe.each(['v2.196.0', 'v2.196.0-encrypted'] as const)('custom providers after adopt --undo on %s', (version) => {
  const ADDRESSES = {
    authorization_url: 'https://idp.example.com/authorize',
    token_url: 'https://idp.example.com/token',
    userinfo_url: 'https://idp.example.com/userinfo',
  } as const
  const NEW = {
    provider_type: 'oauth2',
    identifier: 'custom:new',
    name: 'New',
    client_id: 'new',
    client_secret: 'the new secret',
    ...ADDRESSES,
  } as const
  const read = (restored: Restored) =>
    runSql(
      restored.database.superuserUrl,
      'SELECT id, identifier, name, enabled, scopes, client_secret AS secret FROM auth.custom_oauth_providers ORDER BY identifier',
    )

  it('keep the changes that were made here: an added provider, and a disabled one with a new secret', async () => {
    const [before] = await read(await restore(version))
    const restored = await restoreAdopted(version)
    const { deps } = await openAdopted(restored)
    await changeCustomProvider(deps, {
      ...BY_COMMAND,
      identifier: 'custom:fixture',
      changes: { ...ADDRESSES, enabled: false, client_secret: 'another secret' },
    })
    const { id } = await createCustomProvider(deps, { ...BY_COMMAND, provider: NEW })
    await undo(restored)
    const found = await read(restored)
    const open = (row: Record<string, unknown>) => ({
      ...row,
      secret: readUpstreamSecret(restored.deps.encryptionKeys, String(row.id), String(row.secret)),
    })
    expect(found.map(open)).toEqual([
      { ...before, enabled: false, secret: 'another secret' },
      { id, identifier: 'custom:new', name: 'New', enabled: true, scopes: [], secret: 'the new secret' },
    ])
    const isEncrypted = restored.database.manifest.encryption !== undefined
    expect(found.map(({ secret }) => String(secret).includes('"key_id":"key-1"'))).toEqual([isEncrypted, isEncrypted])
  })

  it('are gone where they were deleted here or supabase/auth cannot have them, which the costs say', async () => {
    const restored = await restoreAdopted(version)
    const { deps } = await openAdopted(restored)
    await deps.db.transaction().execute((trx) => deleteCustomProvider(trx, 'custom:fixture'))
    const name = 'N'.repeat(101)
    await createCustomProvider(deps, { ...BY_COMMAND, provider: { ...NEW, name } })
    const costs: unknown[] = []
    await undoAdoption(restored.deps, async (each) => costs.push(each) > 0)
    const sessions = { ended: 0, all: expect.any(Number) }
    expect(costs).toEqual([{ hasSwitched: true, sessions, passwords: 0, providers: ['custom:new'], ...NO_LOSSES }])
    expect(await read(restored)).toEqual([])
  })
})

it('adopt --undo ends the flows whose code was exchanged here, and keeps those that are open', async () => {
  const restored = await restore('v2.196.0')
  const url = restored.database.superuserUrl
  const open = '11111111-1111-4111-8111-111111111111'
  await runSql(
    url,
    `INSERT INTO auth.flow_state SELECT (jsonb_populate_record(f, jsonb_build_object('id', '${open}', 'auth_code', 'open'))).*
     FROM auth.flow_state f WHERE f.auth_code_issued_at IS NOT NULL LIMIT 1`,
  )
  await adopt(restored)
  const app = await openAdopted(restored)
  const { auth_code, code_verifier } = app.user('flow')?.pkce ?? {}
  const exchanged = await app.post('/token?grant_type=pkce', { auth_code, code_verifier })
  expect(refusalsIn([exchanged])).toEqual([])
  await undo(restored)
  expect(
    await runSql(url, `SELECT auth_code FROM auth.flow_state WHERE auth_code IN ('open', '${auth_code}')`),
  ).toEqual([{ auth_code: 'open' }])
})

it('adopt --undo names the secrets that no key opens before it asks, and changes nothing', async () => {
  const restored = await restoreAdopted('v2.196.0')
  const { app, deps, post, user } = await openAdopted(restored)
  const { email, password } = user('plain') ?? {}
  const signedIn = await post('/token?grant_type=password', { email, password })
  const headers = { authorization: `Bearer ${signedIn.json().access_token}` }
  const payload = { factor_type: 'totp', friendly_name: 'since' }
  const enrolled = await app.inject({ method: 'POST', url: '/factors', headers, payload })
  const provider = await createCustomProvider(deps, {
    ...BY_COMMAND,
    provider: {
      provider_type: 'oauth2',
      identifier: 'custom:new',
      name: 'New',
      client_id: 'new',
      client_secret: 'the new secret',
      authorization_url: 'https://idp.example.com/authorize',
      token_url: 'https://idp.example.com/token',
      userinfo_url: 'https://idp.example.com/userinfo',
    },
  })
  const { encryptionKeys } = restored.deps
  const lacking = { ...restored.deps, encryptionKeys: createEncryptionKeys(Buffer.alloc(32, 1), []) }
  await expect(undoAdoption(lacking, () => expect.fail('asked'))).rejects.toThrow(
    new Error(
      `nothing changed: name the missing keys in AUTH_SECURITY_DATABASE_ENCRYPTION_DECRYPTION_KEYS, or delete what they encrypted
the key ${encryptionKeys.current.id} encrypted mfa_factors ${enrolled.json().id}
the key ${encryptionKeys.current.id} encrypted custom_oauth_providers ${provider.id}`,
    ),
  )
  expect(await undo(restored)).toBe(true)
})

it('adopt --undo ends a code that has no attempt left, and keeps one that has', async () => {
  const restored = await restoreAdopted('v2.196.0')
  const { post, user } = await openAdopted(restored)
  const wrong = { recovering: 10, unconfirmed: 9 }
  const expired = [403, errorBody(403, 'otp_expired', 'Token has expired or is invalid')]
  for (const [name, guesses] of Object.entries(wrong)) {
    const { email, pending } = user(name) ?? {}
    for (let guess = 0; guess < guesses; guess += 1)
      expect(statusAndBody(await post('/verify', { type: pending?.type, email, token: '000000' }))).toEqual(expired)
  }
  await undo(restored)
  const found = await runSql(
    restored.database.superuserUrl,
    `SELECT split_part(u.email, '.', 1) AS name, u.recovery_token <> '' AS recovers, u.confirmation_token <> '' AS confirms,
       ARRAY(SELECT t.token_type::text FROM auth.one_time_tokens t WHERE t.user_id = u.id) AS tokens
     FROM auth.users u WHERE u.id IN ('${user('recovering')?.id}', '${user('unconfirmed')?.id}') ORDER BY name`,
  )
  expect(found).toEqual([
    { name: 'recovering', recovers: false, confirms: false, tokens: [] },
    { name: 'unconfirmed', recovers: false, confirms: true, tokens: ['confirmation_token'] },
  ])
})

it('adopt --undo takes back an adoption that was killed before the switch, and changes nothing without a yes', async () => {
  const restored = await restore('v2.101.0')
  await prepare(restored)
  const prepared = await readAll(restored)
  expect(await undoAdoption(restored.deps, async () => false)).toBe(false)
  expect(await readAll(restored)).toEqual(prepared)
  await undo(restored)
  expect(await readAll(restored)).toEqual(await readBefore('v2.101.0'))
  await expect(undo(restored)).rejects.toThrow('the schema auth_before_trestle is not there: nothing was adopted')
})

it('adopt --undo refuses while the service serves, without a question, and changes nothing', async () => {
  const restored = await restoreAdopted('v2.196.0')
  const { app, deps, user } = await openAdopted(restored)
  await deps.jobs.open()
  onTestFinished(() => deps.jobs.close())
  const confirm = () => expect.fail('asked')
  await expect(undoAdoption(restored.deps, confirm)).rejects.toThrow(
    /^auth still serves from connections named auth-jobs \(pid \d+(, \d+)*\): stop it first\. Once it has ended, a pooler may keep them: end them with SELECT pg_terminate_backend\(…\)$/,
  )
  const [session] = user('plain')?.sessions ?? []
  const url = '/token?grant_type=refresh_token'
  const refreshed = await app.inject({ method: 'POST', url, payload: { refresh_token: session?.refresh_token } })
  expect(statusAndBody(refreshed)).toEqual([200, plainSession(user('plain'))])
})

it('adopt --undo refuses where the service was started while the question waited, and changes nothing', async () => {
  const restored = await restoreAdopted('v2.196.0')
  const { deps } = await openAdopted(restored)
  const before = await readAll(restored)
  const confirm = async () => {
    await deps.jobs.open()
    return true
  }
  onTestFinished(() => deps.jobs.close())
  await expect(undoAdoption(restored.deps, confirm)).rejects.toThrow(
    /^auth still serves from connections named auth-jobs/,
  )
  expect((await readAll(restored)).catalogues).toEqual(before.catalogues)
})

it('adopt --undo is not stopped by a role that names its connection as the service does', async () => {
  const restored = await restoreAdopted('v2.196.0')
  const role = `outsider_${randomUUID().slice(0, 8)}`
  await runSql(restored.database.superuserUrl, `CREATE ROLE ${role} LOGIN PASSWORD 'root'`)
  const url = Object.assign(new URL(restored.database.url), {
    username: role,
    password: 'root',
    search: 'application_name=auth-jobs',
  })
  await withDatabase({ url: url.href }, async (db) => {
    await sql`SELECT 1`.execute(db)
    expect(await undo(restored)).toBe(true)
  })
  await runSql(restored.database.superuserUrl, `DROP ROLE ${role}`)
})

it('adopt --forget drops the old tables, after which there is no way back', async () => {
  const restored = await restoreAdopted('v2.196.0')
  await forgetAdoption(restored.deps, async () => true)
  await expect(undo(restored)).rejects.toThrow(
    'the schema auth is adopted for good: adopt --forget has dropped what undo needs',
  )
  await expect(forgetAdoption(restored.deps, async () => true)).rejects.toThrow('there is nothing to forget')
})
