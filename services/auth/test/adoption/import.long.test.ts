import { randomUUID } from 'node:crypto'
import { underLock } from '@trestle/database/migrations/migration-connection.ts'
import { describe, expect, it } from 'vitest'
import { importPlacesOf, openRecord } from '../../src/adoption/import/import-record.ts'
import { withSource } from '../../src/adoption/import/source-database.ts'
import { forgetImport, importDatabase } from '../../src/adoption/use-cases/import-database.ts'
import { undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { authNames, migrateOptions } from '../../src/migrations.ts'
import { errorBody, statusAndBody } from '../bodies.ts'
import { restore, restoreAdopted } from './adopted-app.ts'
import { type ImportingApp, openBeside, openImportedVersion, openImporting } from './imported-app.ts'
import { plainSession, plainSignIn } from './plain-user.ts'
import { lostSessions, readTables, runSql, settingsFor, VERSIONS } from './restored-database.ts'

const ZERO = { added: 0, changed: 0, deleted: 0 }

/** Runs an import and returns the changed tables. */
async function changesOf(app: ImportingApp) {
  const { tables, heldBack } = await app.run()
  const changed = tables.filter(({ added, changed, deleted }) => added + changed + deleted > 0)
  return { tables: Object.fromEntries(changed.map(({ table, ...counts }) => [table, counts])), heldBack }
}

const countOf = (losses: readonly { readonly count: number }[]) => losses[0]?.count ?? 0

/** Returns all rows of the source. */
async function readSource({ restored: { database } }: ImportingApp) {
  const tables = await runSql<{ name: string }>(
    database.superuserUrl,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  )
  const selects = tables.map(({ name }) => [name, `SELECT xmin, t::text FROM ${name} t ORDER BY 2`])
  return readTables(database.superuserUrl, Object.fromEntries(selects))
}

const idOf = (app: ImportingApp, name: string) => app.user(name)?.id ?? ''
const atSource = (app: ImportingApp, text: string) => runSql(app.restored.database.superuserUrl, text)
const here = (app: ImportingApp, text: string) => runSql(app.database.directUrl, text)

describe.each(VERSIONS)('an import of %s', (version) => {
  it('takes every row, a second time none, and writes nothing at the source', async () => {
    const app = await openImporting(version)
    const before = await readSource(app)
    const { rows, migration } = app.restored.database.manifest
    const lost = lostSessions(app.restored.database, 'they are not copied')
    const first = await app.run()
    expect({ ...first, tables: first.tables.slice(0, 5) }).toEqual({
      version: migration,
      tables: ['users', 'identities', 'sessions', 'mfa_amr_claims', 'mfa_factors'].map((table) => ({
        table,
        ...ZERO,
        added: (rows[table] ?? 0) - (/^(sessions|mfa_amr_claims)$/.test(table) ? countOf(lost) : 0),
      })),
      heldBack: [],
      leftProviders: [],
      sharedEmails: [],
      admins: [],
      otherInstances: { count: 0, ids: [] },
      losses: [{ what: 'users who sign in only by sso, which this service does not serve', count: 2 }, ...lost],
      notYetServed: new Map(
        Object.entries(rows).filter(([table, count]) => /^(sso|saml|oauth)_/.test(table) && count > 0),
      ),
      foreignKeys: ['notes_owner_fkey of public.notes', 'profiles_id_fkey of public.profiles'],
      otherColumns: [],
    })
    expect(await changesOf(app)).toEqual({ tables: {}, heldBack: [] })
    expect(await readSource(app)).toEqual(before)
  })
})

describe('a source that somebody hostile prepared', () => {
  it('runs no statement here by what it says of its types', async () => {
    const app = await openImporting('v2.196.0')
    await atSource(
      app,
      `CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO PUBLIC;
       CREATE FUNCTION evil.format_type(oid, integer) RETURNS text LANGUAGE sql
         RETURN 'text); CREATE TABLE public.taken (a int); CREATE TABLE public.more (a text';
       DO $$ BEGIN
         EXECUTE format('ALTER DATABASE %I SET search_path = evil, pg_catalog, auth', current_database());
         EXECUTE format('ALTER ROLE supabase_auth_admin IN DATABASE %I SET search_path = evil, pg_catalog, auth', current_database());
       END $$`,
    )
    const { tables } = await app.run()
    expect(tables[0]?.added).toBeGreaterThan(0)
    expect(await here(app, `SELECT to_regclass('public.taken') AS taken`)).toEqual([{ taken: null }])
  })

  it('gives nobody a role of the console, nor anything else of this service, by columns with the names of ours', async () => {
    const app = await openImporting('v2.196.0')
    await atSource(
      app,
      `ALTER TABLE auth.users ADD COLUMN console_role text DEFAULT 'admin', ADD COLUMN staged_at timestamptz DEFAULT now(),
         ADD COLUMN claimed_at timestamptz DEFAULT now(), ADD COLUMN keep_unconfirmed boolean DEFAULT false,
         ADD COLUMN tenant_id int DEFAULT 1;
       ALTER TABLE auth.sessions ADD COLUMN label text DEFAULT 'planted';
       ALTER TABLE auth.mfa_factors ADD COLUMN sealed_secret bytea DEFAULT 'planted'`,
    )
    const { otherColumns } = await app.run()
    const others = ['console_role', 'staged_at', 'claimed_at', 'keep_unconfirmed', 'tenant_id'].map(
      (name) => `users.${name}`,
    )
    expect(otherColumns).toEqual([...others, 'sessions.label', 'mfa_factors.sealed_secret'])
    expect(
      await here(
        app,
        `SELECT count(console_role)::int AS roles, count(staged_at)::int AS staged, bool_and(keep_unconfirmed) AS kept,
           (SELECT count(label)::int FROM auth.sessions) AS labels,
           (SELECT count(*)::int FROM auth.mfa_factors WHERE sealed_secret IS NOT NULL) AS secrets
         FROM auth.users`,
      ),
    ).toEqual([{ roles: 0, staged: 0, kept: true, labels: 0, secrets: 0 }])
  })

  it('is not read where a view has the name of a table', async () => {
    const app = await openImporting('v2.196.0')
    await atSource(
      app,
      'ALTER TABLE auth.sso_domains RENAME TO kept; CREATE VIEW auth.sso_domains AS SELECT * FROM auth.kept',
    )
    await expect(app.run()).rejects.toThrow('auth.sso_domains of the source is no table, so it is not read')
  })
})

describe('a later import', () => {
  it('takes what was inserted, updated and deleted at the source since, by SQL too', async () => {
    const app = await openImportedVersion('v2.196.0')
    const [plain, gone] = [idOf(app, 'plain'), idOf(app, 'invited')]
    const [session] = app.user('phone')?.sessions ?? []
    const counted = await atSource(
      app,
      `SELECT (SELECT count(*)::int FROM auth.identities WHERE user_id = '${gone}') AS identities`,
    )
    await atSource(
      app,
      `INSERT INTO auth.users (id, aud, role, email, is_sso_user, is_anonymous)
         VALUES ('11111111-1111-4111-8111-111111111111', 'authenticated', 'authenticated', 'new@example.com', false, false);
       UPDATE auth.users SET raw_user_meta_data = '{"name": "Another"}' WHERE id = '${plain}';
       DELETE FROM auth.sessions WHERE id = '${session?.session_id}';
       DELETE FROM public.notes WHERE owner = '${gone}';
       DELETE FROM auth.users WHERE id = '${gone}';
       INSERT INTO auth.audit_log_entries (instance_id, id, payload, created_at)
         VALUES ('00000000-0000-0000-0000-000000000000', '22222222-2222-4222-8222-222222222222', '{"action": "login"}', now())`,
    )
    expect(await changesOf(app)).toEqual({
      tables: {
        users: { added: 1, changed: 1, deleted: 1 },
        identities: { ...ZERO, deleted: counted[0]?.identities },
        sessions: { ...ZERO, deleted: 1 },
        mfa_amr_claims: { ...ZERO, deleted: 1 },
        refresh_tokens: { ...ZERO, deleted: 1 },
        one_time_tokens: { ...ZERO, deleted: 1 },
        audit_log_entries: { ...ZERO, added: 1 },
      },
      heldBack: [],
    })
    expect(
      await here(
        app,
        `SELECT id, raw_user_meta_data AS data FROM auth.users
         WHERE email = 'new@example.com' OR id IN ('${plain}', '${gone}') ORDER BY email DESC`,
      ),
    ).toEqual([
      { id: plain, data: { name: 'Another' } },
      { id: '11111111-1111-4111-8111-111111111111', data: null },
    ])
    expect(await here(app, `SELECT id FROM auth.sessions WHERE id = '${session?.session_id}'`)).toEqual([])
    expect(await changesOf(app)).toEqual({ tables: {}, heldBack: [] })
  })

  it('takes emails that two users have exchanged, and an identity that was given to another user', async () => {
    const app = await openImportedVersion('v2.151.0')
    const [one, two] = [idOf(app, 'plain'), idOf(app, 'totp')]
    const read = () => `SELECT id, email FROM auth.users WHERE id IN ('${one}', '${two}') ORDER BY id`
    await atSource(
      app,
      `UPDATE auth.users SET email = 'waits@example.com' WHERE id = '${one}';
       UPDATE auth.users SET email = '${app.user('plain')?.email}' WHERE id = '${two}';
       UPDATE auth.users SET email = '${app.user('totp')?.email}' WHERE id = '${one}';
       UPDATE auth.identities SET user_id = '${two}' WHERE user_id = '${one}' AND provider = 'keycloak'`,
    )
    const { heldBack } = await app.run()
    expect(heldBack).toEqual([])
    expect(await here(app, read())).toEqual(await atSource(app, read()))
    expect(
      await here(app, `SELECT user_id FROM auth.identities WHERE provider = 'keycloak' AND user_id = '${two}'`),
    ).toEqual([{ user_id: two }])
  })

  it('continues a session with the tokens of the meantime, and forgets a code that was used there', async () => {
    const app = await openImportedVersion('v2.196.0')
    const user = app.user('recovering')
    const [session] = app.user('plain')?.sessions ?? []
    await atSource(
      app,
      `UPDATE auth.users SET recovery_token = '' WHERE id = '${user?.id}';
       UPDATE auth.refresh_tokens SET revoked = true WHERE token = '${session?.refresh_token}';
       INSERT INTO auth.refresh_tokens (instance_id, token, user_id, parent, revoked, session_id, created_at, updated_at)
         SELECT instance_id, 'thenewtoken1', user_id, token, false, session_id, now(), now() FROM auth.refresh_tokens
         WHERE token = '${session?.refresh_token}'`,
    )
    await app.run()
    const refreshed = await app.post('/token?grant_type=refresh_token', { refresh_token: 'thenewtoken1' })
    expect(statusAndBody(refreshed)).toEqual([200, plainSession(app.user('plain'))])
    const { email, pending } = user ?? {}
    const used = await app.post('/verify', { type: pending?.type, email, token: pending?.email_otp })
    expect(statusAndBody(used)).toEqual([403, errorBody(403, 'otp_expired', 'Token has expired or is invalid')])
  })

  it('keeps a user who has changed on both sides as they are here, and says so until somebody decides', async () => {
    const app = await openImportedVersion('v2.196.0')
    const user = app.user('plain')
    const signedIn = await app.post('/token?grant_type=password', { email: user?.email, password: user?.password })
    const headers = { authorization: `Bearer ${signedIn.json().access_token}` }
    const password = 'a new horse of mine'
    const changed = await app.app.inject({ method: 'PUT', url: '/user', headers, payload: { password } })
    expect(changed.statusCode).toBe(200)
    expect(await changesOf(app)).toEqual({ tables: {}, heldBack: [] })
    await atSource(
      app,
      `UPDATE auth.users SET raw_user_meta_data = '{"name": "Another"}' WHERE id IN ('${user?.id}', '${idOf(app, 'totp')}')`,
    )
    const heldBack = [{ kind: 'user', id: user?.id, reason: 'has changed here since its import' }]
    expect(await changesOf(app)).toEqual({ tables: { users: { ...ZERO, changed: 1 } }, heldBack })
    expect(await changesOf(app)).toEqual({ tables: {}, heldBack })
    const again = await app.post('/token?grant_type=password', { email: user?.email, password })
    expect(statusAndBody(again)).toEqual([200, plainSignIn(user)])
  })

  it('keeps a user deleted who was deleted here, and brings back no code that was used here', async () => {
    const app = await openImportedVersion('v2.196.0')
    const [gone, recovering] = [idOf(app, 'plain'), app.user('recovering')]
    await here(app, `DELETE FROM auth.users WHERE id = '${gone}'`)
    const { email, pending } = recovering ?? {}
    const code = { type: pending?.type, email, token: pending?.email_otp }
    expect((await app.post('/verify', code)).statusCode).toBe(200)
    await atSource(app, `UPDATE auth.users SET updated_at = now() WHERE id IN ('${gone}', '${recovering?.id}')`)
    const { heldBack } = await changesOf(app)
    expect(heldBack.map(({ id }) => id)).toEqual([gone, recovering?.id].sort())
    expect(await here(app, `SELECT id FROM auth.users WHERE id = '${gone}'`)).toEqual([])
    expect(statusAndBody(await app.post('/verify', code))).toEqual([
      403,
      errorBody(403, 'otp_expired', 'Token has expired or is invalid'),
    ])
  })
})

it('takes users whose role has a type of the source', async () => {
  const app = await openImporting('v2.196.0')
  const id = idOf(app, 'plain')
  await atSource(
    app,
    `UPDATE auth.users SET role = 'service_role' WHERE id = '${id}';
     CREATE TYPE public.user_role AS ENUM ('authenticated', 'service_role', '');
     ALTER TABLE auth.users ALTER COLUMN role TYPE public.user_role USING role::public.user_role`,
  )
  expect((await app.run()).admins).toEqual([{ role: 'service_role', count: 1, ids: [id] }])
  const roles = 'SELECT id::text, role::text FROM auth.users ORDER BY id'
  expect(await here(app, roles)).toEqual(await atSource(app, roles))
})

it('reads the source as it is once the run before has ended', async () => {
  const app = await openImporting('v2.196.0')
  const { rows } = app.restored.database.manifest
  const target = { url: app.database.directUrl, names: authNames(app.deps.config) }
  const { run } = await underLock(target, async () => {
    const run = app.run()
    while ((await here(app, WAITING)).length === 0);
    await atSource(app, `DELETE FROM public.notes; DELETE FROM auth.users WHERE id = '${idOf(app, 'invited')}'`)
    return { run }
  })
  expect((await run).tables[0]).toEqual({ table: 'users', ...ZERO, added: (rows.users ?? 0) - 1 })
})

/** The connections that wait for the lock of a run. */
const WAITING = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

it('takes no user whose email, phone or id somebody else has here, and takes all others', async () => {
  const app = await openImporting('v2.196.0')
  const [plain, phone, totp] = [app.user('plain'), app.user('phone'), app.user('totp')]
  const made = '33333333-3333-4333-8333-33333333333'
  await here(
    app,
    `INSERT INTO auth.users (id, email) VALUES ('${made}1', '${plain?.email?.toUpperCase()}'), ('${totp?.id}', 'own@example.com');
     INSERT INTO auth.users (id, phone) VALUES ('${made}2', '${phone?.phone}')`,
  )
  const { rows } = app.restored.database.manifest
  const { tables, heldBack } = await changesOf(app)
  const address = 'has an email, phone, identity, session, factor or passkey of another user here'
  const byId = (one: { id: string | undefined }, two: { id: string | undefined }) =>
    (one.id ?? '') < (two.id ?? '') ? -1 : 1
  const [provider] = await atSource(app, 'SELECT id FROM auth.custom_oauth_providers')
  const users = [
    { kind: 'user', id: plain?.id, reason: address },
    { kind: 'user', id: phone?.id, reason: address },
    { kind: 'user', id: totp?.id, reason: 'was here before the import' },
  ]
  expect(heldBack).toEqual([
    {
      kind: 'provider',
      id: provider?.id,
      reason: 'could sign in as users here who were not taken over: create it again by POST /admin/custom-providers',
    },
    ...users.sort(byId),
  ])
  expect(tables.users).toEqual({ ...ZERO, added: (rows.users ?? 0) - 3 })
  expect(await here(app, `SELECT email FROM auth.users WHERE id = '${totp?.id}'`)).toEqual([
    { email: 'own@example.com' },
  ])
})

it('takes no session, factor, claim, passkey, identity or token of a user who is here, and names whom it does not take', async () => {
  const app = await openImporting('v2.196.0')
  const own = randomUUID()
  const [session, factor, claim, passkey, identity] = Array.from({ length: 5 }, () => randomUUID())
  const makePasskey = (id: string | undefined, userId: string, bytes: string) => `
    INSERT INTO auth.webauthn_credentials (id, user_id, credential_id, public_key, attestation_type, sign_count, transports, friendly_name)
      VALUES ('${id}', '${userId}', '${bytes}', '\\x01', 'none', 0, '[]', 'same')`
  /** For each user of the source, a statement that gives that user a row with a value of the user here. */
  const changes: Readonly<Record<string, (userId: string) => string>> = {
    'hash-bcrypt': (id) => `INSERT INTO auth.sessions (id, user_id, created_at) VALUES ('${session}', '${id}', now())`,
    'hash-argon2id': (id) => `
      INSERT INTO auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
        VALUES ('${factor}', '${id}', 'totp', 'verified', now(), now())`,
    'hash-argon2i': (id) => `
      INSERT INTO auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at, last_challenged_at)
        VALUES (gen_random_uuid(), '${id}', 'totp', 'verified', now(), now(), '2026-01-01')`,
    phone: (id) => `
      UPDATE auth.mfa_amr_claims SET id = '${claim}' WHERE id = (
        SELECT a.id FROM auth.mfa_amr_claims a JOIN auth.sessions s ON s.id = a.session_id WHERE s.user_id = '${id}' LIMIT 1)`,
    unconfirmed: (id) => `
      UPDATE auth.identities SET id = '${identity}' WHERE id = (SELECT id FROM auth.identities WHERE user_id = '${id}' LIMIT 1)`,
    external: (id) => `
      UPDATE auth.refresh_tokens SET token = 'the same token' WHERE id = (
        SELECT max(t.id) FROM auth.refresh_tokens t JOIN auth.sessions s ON s.id = t.session_id WHERE s.user_id = '${id}')`,
    moving: (id) => `UPDATE auth.users SET confirmation_token = 'ab12' WHERE id = '${id}'`,
    plain: (id) => makePasskey(randomUUID(), id, '\\x01020304'),
    totp: (id) => makePasskey(passkey, id, '\\x05'),
  }
  await here(
    app,
    `INSERT INTO auth.users (id, email, confirmation_token) VALUES ('${own}', 'own@example.com', 'ab12');
     INSERT INTO auth.sessions (id, user_id) VALUES ('${session}', '${own}');
     INSERT INTO auth.mfa_amr_claims (id, session_id, authentication_method, created_at, updated_at)
       VALUES ('${claim}', '${session}', 'password', now(), now());
     INSERT INTO auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at, last_challenged_at)
       VALUES ('${factor}', '${own}', 'totp', 'verified', now(), now(), '2026-01-01');
     INSERT INTO auth.identities (id, user_id, provider, provider_id, identity_data)
       VALUES ('${identity}', '${own}', 'github', '1', '{}');
     INSERT INTO auth.refresh_tokens (session_id, user_id, token_hash, counter)
       VALUES ('${session}', '${own}', sha256('the same token'), 0);
     INSERT INTO auth.webauthn_credentials (id, user_id, credential_id, public_key, sign_count, transports, friendly_name)
       VALUES ('${passkey}', '${own}', 'AQIDBA', 'AQ', 0, '[]', '')`,
  )
  const readOwn = () =>
    here(
      app,
      `SELECT
        (SELECT jsonb_agg(t) FROM auth.sessions t WHERE user_id = '${own}') AS sessions,
        (SELECT jsonb_agg(t) FROM auth.mfa_factors t WHERE user_id = '${own}') AS factors,
        (SELECT jsonb_agg(t) FROM auth.mfa_amr_claims t WHERE session_id = '${session}') AS claims,
        (SELECT jsonb_agg(t) FROM auth.identities t WHERE user_id = '${own}') AS identities,
        (SELECT jsonb_agg(t) FROM auth.refresh_tokens t WHERE user_id = '${own}') AS tokens,
        (SELECT jsonb_agg(t) FROM auth.webauthn_credentials t WHERE user_id = '${own}') AS passkeys`,
    )
  const before = await readOwn()
  const held = Object.keys(changes).map((name) => idOf(app, name))
  await atSource(
    app,
    Object.entries(changes)
      .map(([name, change]) => change(idOf(app, name)))
      .join(';'),
  )
  const reason = 'has an email, phone, identity, session, factor or passkey of another user here'
  const { heldBack } = await app.run()
  expect(heldBack.filter(({ kind }) => kind === 'user')).toEqual(
    held.sort().map((id) => ({ kind: 'user', id, reason })),
  )
  expect(await readOwn()).toEqual(before)
})

it('takes no user who shares an address with a user here that an identity of one of them has verified', async () => {
  const app = await openImporting('v2.196.0')
  const [totp, external] = [app.user('totp'), app.user('external')]
  const own = '55555555-5555-4555-8555-555555555555'
  await here(
    app,
    `INSERT INTO auth.users (id, email) VALUES ('${own}', 'own@example.com');
     INSERT INTO auth.identities (user_id, provider, provider_id, identity_data)
       VALUES ('${own}', 'github', 'own', '{"email":"${totp?.email}","email_verified":true}')`,
  )
  await atSource(
    app,
    `INSERT INTO auth.identities (user_id, provider, provider_id, identity_data, created_at, updated_at)
       VALUES ('${external?.id}', 'gitlab', 'planted', '{"email":"Own@example.com","email_verified":true}', now(), now())`,
  )
  const { heldBack } = await app.run()
  const reason = 'has an email, phone, identity, session, factor or passkey of another user here'
  expect(heldBack.filter(({ kind }) => kind === 'user')).toEqual(
    [totp?.id, external?.id].sort().map((id) => ({ kind: 'user', id, reason })),
  )
})

it('signs the oldest confirmed user in where several share an email, which a later import may bring', async () => {
  const app = await openImportedVersion('v2.196.0')
  const owner = app.user('plain')
  await atSource(
    app,
    `INSERT INTO auth.users (instance_id, id, aud, role, email, encrypted_password, created_at)
     SELECT instance_id, gen_random_uuid(), aud, role, upper(email), encrypted_password, '2020-01-01' FROM auth.users
     WHERE id = '${owner?.id}'`,
  )
  const { heldBack, sharedEmails } = await app.run()
  expect({ heldBack, sharedEmails }).toEqual({ heldBack: [], sharedEmails: [owner?.email] })
  const signedIn = await app.post('/token?grant_type=password', {
    email: owner?.email?.toUpperCase(),
    password: owner?.password,
  })
  expect(statusAndBody(signedIn)).toEqual([200, plainSignIn(owner)])
})

it('says whose secrets no key opens', async () => {
  const restored = await restore('v2.196.0-encrypted')
  const { encryption: _key, ...manifest } = restored.database.manifest
  const database = { ...restored.database, manifest }
  expect(settingsFor(database)).not.toHaveProperty('AUTH_SECURITY_DATABASE_ENCRYPTION_KEY')
  const app = await openBeside({ ...restored, database })
  const { losses, leftProviders } = await app.run()
  expect({ losses: losses.map(({ what }) => what), leftProviders }).toEqual({
    losses: [
      'users who sign in only by sso, which this service does not serve',
      'users whose password is encrypted with the key key-1, which no setting has',
      'authenticator apps whose secret is encrypted with the key key-1, which no setting has',
      'sessions whose key is encrypted with the key key-1, which no setting has',
      'sessions of OAuth clients, which this service does not serve: they are not copied',
    ],
    leftProviders: ['custom:fixture'],
  })
})

it('takes nothing from a standby in an earlier state than at the run before, but from any primary', async () => {
  const app = await openImporting('v2.196.0')
  await app.run()
  const { directUrl } = app.database
  await runSql(directUrl, `UPDATE auth_imported.source SET position = 'FFFFFFFF/0'`)
  const { url, names } = migrateOptions(app.deps.config)
  const asStandby = withSource({ url: app.restored.database.url, schema: 'auth' }, (source) =>
    underLock({ url, names }, (trx) =>
      openRecord({ trx, places: importPlacesOf(names), source: { ...source, isStandby: true } }),
    ),
  )
  await expect(asStandby).rejects.toThrow(
    /^the source is in an earlier state \([0-9A-F]+\/[0-9A-F]+\) than at the run before \(FFFFFFFF\/0\), because it is a standby that lags: wait until it has caught up, or name the primary$/,
  )
  await app.run()
  expect(await runSql(directUrl, `SELECT position < 'FFFFFFFF/0' AS known FROM auth_imported.source`)).toEqual([
    { known: true },
  ])
})

it('the record of an import into an adopted database stays at adopt --undo, and import --forget drops it then', async () => {
  const [source, { deps, database }] = await Promise.all([restore('v2.101.0'), restoreAdopted('v2.196.0')])
  await importDatabase(deps, { url: source.database.url, schema: 'auth', force: false })
  const readRecord = () => runSql(database.superuserUrl, `SELECT to_regnamespace('auth_imported')::text AS schema`)
  expect(await undoAdoption(deps, async () => true)).toBe(true)
  expect(await readRecord()).toEqual([{ schema: 'auth_imported' }])
  expect(await forgetImport(deps, async () => true)).toBe(true)
  expect(await readRecord()).toEqual([{ schema: null }])
})
