import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { adoptCommand } from '../../src/adoption/commands/adopt.ts'
import { checkAdoption } from '../../src/adoption/use-cases/check-adoption.ts'
import { forgetAdoption, undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { createQuietDeps } from '../../src/commands/operator-deps.ts'
import { encryptSecret } from '../../src/secrets/encrypted-secret.ts'
import { deriveUpstreamTokens } from '../../src/sessions/session.ts'
import { errorBody } from '../bodies.ts'
import { adopt, openAdopted, type Restored, restore } from './adopted-app.ts'
import { openBeside } from './imported-app.ts'
import { runSql } from './restored-database.ts'

const idOf = ({ database }: Restored, name: string) => database.manifest.users.find((user) => user.name === name)?.id
const CLIENTS = 'sessions of OAuth clients, which this service does not serve'
const CHECKED = { what: `${CLIENTS}: they go on only after adopt --undo`, count: 1 }
const IMPORTED = { what: `${CLIENTS}: they are not copied`, count: 1 }
const SSO = { what: 'users who sign in only by sso, which this service does not serve', count: 2 }

it('adopt takes over rows whose id is the nil UUID as any others', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  const nil = '00000000-0000-0000-0000-000000000000'
  await runSql(
    superuserUrl,
    `INSERT INTO auth.users (instance_id, id, aud, email, confirmation_token, recovery_token, email_change_token_new, email_change)
       VALUES ('${nil}', '${nil}', 'authenticated', 'nil@example.com', '', '', '', '');
     INSERT INTO auth.sessions (id, user_id) VALUES ('${nil}', '${nil}');
     INSERT INTO auth.refresh_tokens (session_id, user_id, token) VALUES ('${nil}', '${nil}', 'of-nobody');
     INSERT INTO auth.audit_log_entries (id, payload) VALUES ('${nil}', '{"action": "of nobody"}')`,
  )
  await adopt(restored)
  expect(
    await runSql(
      superuserUrl,
      `SELECT (SELECT count(*)::int FROM auth.user_directory WHERE user_id = '${nil}') AS listed,
         (SELECT count(*)::int FROM auth.refresh_tokens WHERE session_id = '${nil}') AS tokens,
         (SELECT count(*)::int FROM auth.audit_log_entries WHERE id = '${nil}') AS entries`,
    ),
  ).toEqual([{ listed: 1, tokens: 1, entries: 1 }])
})

it('adopt copies no passkey of a user who is gone, as a restore without foreign keys may leave it, and undo keeps it', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  await runSql(
    superuserUrl,
    `SET session_replication_role = replica;
     INSERT INTO auth.webauthn_credentials (user_id, credential_id, public_key) VALUES (gen_random_uuid(), 'lone', 'key')`,
  )
  const before = await runSql(superuserUrl, 'SELECT * FROM auth.webauthn_credentials ORDER BY id')
  expect(before).toHaveLength(2)
  await adopt(restored)
  expect(await runSql(superuserUrl, 'SELECT user_id FROM auth.webauthn_credentials')).toEqual([
    { user_id: idOf(restored, 'passkey') },
  ])
  expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  expect(await runSql(superuserUrl, 'SELECT * FROM auth.webauthn_credentials ORDER BY id')).toEqual(before)
})

it('a secret that only looks encrypted stops no check, import or undo, and the check names its row', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl, manifest } = restored.database
  const [plain, phone] = [idOf(restored, 'plain'), idOf(restored, 'phone')]
  const factor = manifest.users.find(({ name }) => name === 'totp')?.totp?.factor_id
  const session = manifest.users.find(({ name }) => name === 'plain')?.sessions[0]?.session_id
  await runSql(
    superuserUrl,
    `UPDATE auth.users SET encrypted_password = '{bad' WHERE id = '${plain}';
     UPDATE auth.users SET encrypted_password = '{"key_id": "k", "alg": 1}' WHERE id = '${phone}';
     UPDATE auth.mfa_factors SET secret = '{}' WHERE id = '${factor}';
     UPDATE auth.sessions SET refresh_token_hmac_key = '{bad', refresh_token_counter = 1 WHERE id = '${session}'`,
  )
  const losses = [
    SSO,
    {
      what: `users whose password is neither plain nor encrypted: users ${[plain, phone].sort().join(', ')}`,
      count: 2,
    },
    { what: `authenticator apps whose secret is neither plain nor encrypted: mfa_factors ${factor}`, count: 1 },
    { what: `sessions whose key is neither plain nor encrypted: sessions ${session}`, count: 1 },
  ]
  expect((await checkAdoption(restored.deps, { force: false })).losses).toEqual([...losses, CHECKED])
  expect((await (await openBeside(restored)).run()).losses).toEqual([...losses, IMPORTED])
  await adopt(restored)
  const app = await openAdopted(restored)
  const { email, password } = app.user('plain') ?? {}
  const refused = await app.post('/token?grant_type=password', { email, password })
  expect([refused.statusCode, refused.json()]).toEqual([
    400,
    errorBody(400, 'invalid_credentials', 'Invalid login credentials'),
  ])
  expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  expect(await runSql(superuserUrl, `SELECT encrypted_password AS hash FROM auth.users WHERE id = '${plain}'`)).toEqual(
    [{ hash: '{bad' }],
  )
})

it('users whom SQL alone has marked as deleted do not sign in here: the check and an import count them', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  await runSql(
    superuserUrl,
    `UPDATE auth.users SET deleted_at = now() WHERE id = '${idOf(restored, 'plain')}';
     UPDATE auth.users SET deleted_at = 'infinity' WHERE id = '${idOf(restored, 'phone')}'`,
  )
  const marked = {
    what: 'users whom SQL has marked as deleted, and supabase/auth lets in: clear deleted_at of those who are to sign in',
    count: 2,
  }
  expect((await checkAdoption(restored.deps, { force: false })).losses).toEqual([marked, SSO, CHECKED])
  expect((await (await openBeside(restored)).run()).losses).toEqual([marked, SSO, IMPORTED])
  await adopt(restored)
  const app = await openAdopted(restored)
  const { email, password, sessions } = app.user('plain') ?? {}
  const statuses = [
    await app.post('/token?grant_type=password', { email, password }),
    await app.post('/token?grant_type=refresh_token', { refresh_token: sessions?.at(-1)?.refresh_token }),
  ].map(({ statusCode }) => statusCode)
  expect(statuses).toEqual([400, 400])
})

it('the check and an import name users whose app_metadata may fill an access token', async () => {
  const restored = await restore('v2.196.0')
  const id = idOf(restored, 'plain')
  await runSql(
    restored.database.superuserUrl,
    `UPDATE auth.users SET raw_app_meta_data = jsonb_build_object('big', repeat('x', 20000)) WHERE id = '${id}'`,
  )
  const large = {
    what: `users whose app_metadata has more than 8192 bytes, so that their access token may be longer than a header: users ${id}`,
    count: 1,
  }
  expect((await checkAdoption(restored.deps, { force: false })).losses).toEqual([SSO, large, CHECKED])
  expect((await (await openBeside(restored)).run()).losses).toEqual([SSO, large, IMPORTED])
})

it('a database without a table of the audit log is adopted, given back, forgotten, and imported', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, 'DROP TABLE auth.audit_log_entries')
  const app = await openBeside(restored)
  expect((await app.run()).tables.at(-1)).toEqual({ table: 'audit_log_entries', added: 0, changed: 0, deleted: 0 })
  const { obstacles, losses } = await checkAdoption(restored.deps, { force: false })
  expect({ obstacles, losses }).toEqual({ obstacles: [], losses: [SSO, CHECKED] })
  const entries = `SELECT to_regclass('auth.audit_log_entries') IS NOT NULL AS own,
    to_regclass('auth_before_trestle.audit_log_entries') IS NOT NULL AS kept`
  await adopt(restored)
  expect(await runSql(superuserUrl, entries)).toEqual([{ own: true, kept: false }])
  expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  expect(await runSql(superuserUrl, entries)).toEqual([{ own: false, kept: false }])
  await adopt(restored)
  expect(await forgetAdoption(restored.deps, async () => true)).toBe(true)
})

it('an undo encrypts for supabase/auth by the key that it had, though one row is not what supabase/auth encrypts', async () => {
  const restored = await restore('v2.196.0-encrypted')
  const { superuserUrl } = restored.database
  await runSql(
    superuserUrl,
    `UPDATE auth.users SET encrypted_password = '{bad' WHERE id = '${idOf(restored, 'plain')}'`,
  )
  await adopt(restored)
  const app = await openAdopted(restored)
  const { email, password } = app.user('phone') ?? {}
  const signedIn = await app.post('/token?grant_type=password', { email, phone: app.user('phone')?.phone, password })
  const enrolled = await app.app.inject({
    method: 'POST',
    url: '/factors',
    headers: { authorization: `Bearer ${signedIn.json().access_token}` },
    payload: { factor_type: 'totp' },
  })
  expect(enrolled.statusCode).toBe(200)
  await undoAdoption(restored.deps, async () => true)
  const [factor] = await runSql<{ secret: string }>(
    superuserUrl,
    `SELECT secret FROM auth.mfa_factors WHERE id = '${enrolled.json().id}'`,
  )
  expect(JSON.parse(factor?.secret ?? '').key_id).toBe('key-1')
})

it('an entry of the audit log that jsonb refuses stops no check, adoption or import, and each of them counts it', async () => {
  const restored = await restore('v2.196.0')
  await runSql(
    restored.database.superuserUrl,
    `INSERT INTO auth.audit_log_entries (instance_id, id, payload, created_at)
     VALUES (gen_random_uuid(), '11111111-1111-4111-8111-111111111111', '{"action":"x\\u0000"}', now())`,
  )
  const loss = {
    what: 'entries of the audit log that jsonb refuses: U+FFFD takes the place of U+0000 and of half surrogate pairs',
    count: 1,
  }
  expect((await checkAdoption(restored.deps, { force: false })).losses).toEqual([SSO, CHECKED, loss])
  const importing = await openBeside(restored)
  expect((await importing.run()).losses).toEqual([SSO, IMPORTED, loss])
  expect((await importing.run()).losses).toEqual([SSO, IMPORTED])
  expect((await adopt(restored)).losses).toEqual([loss])
  const copied = `SELECT payload FROM auth.audit_log_entries WHERE id = '11111111-1111-4111-8111-111111111111'`
  for (const url of [importing.database.directUrl, restored.database.superuserUrl])
    expect(await runSql(url, copied)).toEqual([{ payload: { action: 'x\ufffd' } }])
})

it('no tokens are derived for sessions whose keys are shorter than those of supabase/auth', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl, manifest } = restored.database
  const keys = { plain: '', phone: 'c2hvcnQ', totp: Buffer.alloc(31).toString('base64url') }
  const sessionOf = (owner: string) => manifest.users.find(({ name }) => name === owner)?.sessions[0]?.session_id ?? ''
  const count = `SELECT session_id AS session, count(*)::int AS tokens FROM auth.refresh_tokens
    WHERE session_id IN (${Object.keys(keys).map((owner) => `'${sessionOf(owner)}'`)}) GROUP BY 1 ORDER BY 1`
  const before = await runSql(superuserUrl, count)
  expect(before).toHaveLength(3)
  for (const [owner, key] of Object.entries(keys))
    await runSql(
      superuserUrl,
      `UPDATE auth.sessions SET refresh_token_hmac_key = '${key}', refresh_token_counter = 4 WHERE id = '${sessionOf(owner)}'`,
    )
  await adopt(restored)
  expect(await runSql(superuserUrl, count)).toEqual(before)
})

it('auth adopt --check prints names of the database without the characters that move the cursor', async () => {
  const { database, deps } = await restore('v2.101.0')
  await runSql(database.superuserUrl, `CREATE TABLE auth."x\u001b[2Jok   all fine" (id int)`)
  const lines: string[] = []
  const command = adoptCommand(() => createQuietDeps(deps.config), {
    print: (line) => lines.push(line),
    ask: async () => undefined,
  })
  await command.parseAsync(['--check'], { from: 'user' })
  expect(lines).toContain('left alone x\\u{1b}[2Jok   all fine')
  expect(lines.join('')).not.toContain('\u001b')
})

it('signature counters that are no numbers stop no check, import, adoption or undo, and the check names their factors, which nobody can use', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  const [text, ...others] = ['"x"', '99999999999999999999', '-1', '1.5']
  const spoil = `UPDATE auth.mfa_factors
    SET web_authn_credential = jsonb_set(web_authn_credential, '{authenticator,signCount}', '${text}')
    WHERE factor_type = 'webauthn' AND web_authn_credential IS NOT NULL`
  await runSql(superuserUrl, spoil)
  for (const counter of others)
    await runSql(
      superuserUrl,
      `INSERT INTO auth.mfa_factors
       SELECT (jsonb_populate_record(f, jsonb_build_object('id', gen_random_uuid(), 'friendly_name', '${counter}',
         'last_challenged_at', NULL, 'web_authn_credential', web_authn_credential
           || jsonb_build_object('id', encode('${counter}', 'base64'))
           || jsonb_build_object('authenticator', web_authn_credential -> 'authenticator' || '{"signCount": ${counter}}')))).*
       FROM auth.mfa_factors f WHERE factor_type = 'webauthn' AND web_authn_credential #>> '{authenticator,signCount}' = 'x'`,
    )
  const read = `SELECT id::text AS id FROM auth.mfa_factors
    WHERE factor_type = 'webauthn' AND web_authn_credential IS NOT NULL ORDER BY 1`
  const factors = (await runSql<{ id: string }>(superuserUrl, read)).map(({ id }) => id)
  const what = `WebAuthn factors whose signature counter is no counter: mfa_factors ${factors.join(', ')}`
  const losses = [SSO, { what, count: 4 }]
  expect((await checkAdoption(restored.deps, { force: false })).losses).toEqual([...losses, CHECKED])
  expect((await (await openBeside(restored)).run()).losses).toEqual([...losses, IMPORTED])
  await adopt(restored)
  expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  expect((await runSql<{ id: string }>(superuserUrl, read)).map(({ id }) => id)).toEqual(factors)
})

it('a session whose counter is the greatest bigint stops no import, adoption or undo, and refreshes here', async () => {
  const restored = await restore('v2.196.0-encrypted')
  const { database, deps } = restored
  const counter = 9_223_372_036_854_775_807n
  const session = database.manifest.users.find(({ name }) => name === 'plain')?.sessions[0]?.session_id ?? ''
  const [row] = await runSql<{ hmacKey: string }>(
    database.superuserUrl,
    `UPDATE auth.sessions SET refresh_token_counter = ${counter} WHERE id = '${session}'
     RETURNING refresh_token_hmac_key AS "hmacKey"`,
  )
  const tokens = deriveUpstreamTokens(deps.encryptionKeys, { id: session, hmacKey: row?.hmacKey ?? '', counter })
  const refresh = { refresh_token: tokens?.current }
  const beside = await openBeside(restored)
  await beside.run()
  expect((await beside.post('/token?grant_type=refresh_token', refresh)).statusCode).toBe(200)
  await adopt(restored)
  const app = await openAdopted(restored)
  expect((await app.post('/token?grant_type=refresh_token', refresh)).statusCode).toBe(200)
  expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  const ended = 'SELECT refresh_token_hmac_key AS key, refresh_token_counter AS counter FROM auth.sessions'
  expect(await runSql(database.superuserUrl, `${ended} WHERE id = '${session}'`)).toEqual([
    { key: null, counter: null },
  ])
})

it('a signature counter that SQL spoils after the switch is the one of this service after an undo', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  const read = `SELECT id, web_authn_credential #>> '{authenticator,signCount}' AS counter FROM auth.mfa_factors
    WHERE factor_type = 'webauthn' AND web_authn_credential IS NOT NULL`
  const before = await runSql(superuserUrl, read)
  await adopt(restored)
  await runSql(
    superuserUrl,
    `UPDATE auth.mfa_factors SET web_authn_credential = jsonb_set(web_authn_credential, '{authenticator,signCount}', '"x"')
     WHERE web_authn_credential IS NOT NULL`,
  )
  expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  expect(await runSql(superuserUrl, read)).toEqual(before)
})

it('passkeys and second factors that SQL spoils after the switch stop no undo, which names their rows', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  await adopt(restored)
  const userId = idOf(restored, 'passkey')
  const idAt = (place: number) => `00000000-0000-4000-8000-00000000000${place}`
  // Its key is known but does not decrypt the secret.
  const unopened = encryptSecret({ ...restored.deps, randomBytes }, 'another row', 'JBSWY3DPEHPK3PXP')
  const encrypted = [{ a: 1 }, null, 5, 'text', { ...unopened, key_id: 'nobody' }, unopened]
  await runSql(
    superuserUrl,
    `INSERT INTO auth.webauthn_credentials (id, user_id, credential_id, public_key, sign_count, transports, backup_eligible,
         friendly_name, created_at, updated_at)
       VALUES ('${idAt(1)}', '${userId}', '???', 'zz!', 0, '[]', true, 'spoilt', now(), now());
     INSERT INTO auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at, credential)
       VALUES ('${idAt(2)}', '${userId}', 'webauthn', 'verified', now(), now(), '{"id": 5}');
     INSERT INTO auth.mfa_factors (id, user_id, friendly_name, factor_type, status, created_at, updated_at, sealed_secret) VALUES
       ${encrypted.map((value, place) => `('${idAt(place + 3)}', '${userId}', 'app ${place}', 'totp', 'verified', now(), now(), '${JSON.stringify(value)}')`)}`,
  )
  const costs: object[] = []
  expect(await undoAdoption(restored.deps, async (found) => costs.push(found.spoilt) > 0)).toBe(true)
  const factors = [2, 3, 4, 5, 6, 7, 8].map((place) => `mfa_factors ${idAt(place)}`)
  expect(costs).toEqual([[`webauthn_credentials ${idAt(1)}`, ...factors]])
  const written = `SELECT (SELECT count(*)::int FROM auth.webauthn_credentials WHERE id = '${idAt(1)}') AS passkeys,
    (SELECT count(*)::int FROM auth.mfa_factors WHERE id::text LIKE '${idAt(0).slice(0, -1)}%') AS factors,
    (SELECT bool_and(CASE factor_type WHEN 'totp' THEN secret ~ '^[A-Z2-7]{32,}$'
        ELSE secret = '' AND web_authn_credential IS NULL END)
      FROM auth.mfa_factors WHERE id::text LIKE '${idAt(0).slice(0, -1)}%') AS "areUnusable"`
  // An authenticator app without a secret gets an unknown secret.
  expect(await runSql(superuserUrl, written)).toEqual([{ passkeys: 0, factors: 7, areUnusable: true }])
})

it('the check counts users whose password costs more to verify than a sign-in may', async () => {
  const restored = await restore('v2.196.0')
  const argon2 = (cost: string) => `$argon2id$v=19$${cost}$${'A'.repeat(22)}$${'A'.repeat(43)}`
  const hashes = {
    'hash-bcrypt': `$2a$15$${'A'.repeat(53)}`,
    'hash-argon2id': argon2('m=262145,t=1,p=1'),
    'hash-argon2i': argon2('m=65536,t=17,p=1'),
    plain: `$2b$14$${'A'.repeat(53)}`,
    phone: argon2('m=262144,t=4,p=1'),
  }
  for (const [name, hash] of Object.entries(hashes))
    await runSql(
      restored.database.superuserUrl,
      `UPDATE auth.users SET encrypted_password = '${hash}' WHERE id = '${idOf(restored, name)}'`,
    )
  expect((await checkAdoption(restored.deps, { force: false })).losses).toEqual([
    { what: 'users whose password costs more to verify than a sign-in may', count: 3 },
    SSO,
    CHECKED,
  ])
})

it('codes, flows and challenges of the last moment that PostgreSQL has stop no adoption or import, and codes expire in a day', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  const last = '294276-12-31 23:59:59+00'
  await runSql(
    superuserUrl,
    `UPDATE auth.users SET recovery_token = repeat('a', 56), recovery_sent_at = '${last}' WHERE id = '${idOf(restored, 'plain')}';
     UPDATE auth.flow_state SET created_at = '${last}', auth_code_issued_at = '${last}';
     INSERT INTO auth.mfa_challenges (id, factor_id, created_at, ip_address)
       SELECT gen_random_uuid(), id, '${last}', '127.0.0.1' FROM auth.mfa_factors WHERE factor_type = 'totp'`,
  )
  const recoveries = `SELECT sent_at, expires_at < sent_at + interval '1 day 1 minute' AS expires FROM auth.one_time_tokens
    WHERE kind = 'recovery' AND user_id = '${idOf(restored, 'plain')}'`
  const importing = await openBeside(restored)
  await importing.run()
  await adopt(restored)
  const copied = [{ sent_at: restored.deps.now(), expires: true }]
  for (const url of [importing.database.directUrl, superuserUrl]) expect(await runSql(url, recoveries)).toEqual(copied)
})
