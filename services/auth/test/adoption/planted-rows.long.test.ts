import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { statusAndBody } from '../bodies.ts'
import { type ImportingApp, openImportedVersion, openImporting } from './imported-app.ts'
import { plainSession } from './plain-user.ts'
import { runSql } from './restored-database.ts'

const idOf = (app: ImportingApp, name: string) => app.user(name)?.id ?? ''
const atSource = (app: ImportingApp, text: string) => runSql(app.restored.database.superuserUrl, text)
const here = (app: ImportingApp, text: string) => runSql(app.database.directUrl, text)

const VERIFIER = 'a-verifier-of-at-least-forty-three-characters'

interface PlantedFlow {
  readonly id: string
  readonly userId: string | null
  readonly target?: string
  /** The auth code, or `undefined` if the flow still waits for the provider. */
  readonly code?: string
}

/** SQL for the source that adds an open PKCE flow with a verifier that the attacker knows. */
function addFlow(app: ImportingApp, { id, userId, target, code }: PlantedFlow): string {
  const [now, text] = [app.deps.now().toISOString(), (value?: string | null) => (value ? `'${value}'` : 'NULL')]
  return `
    INSERT INTO auth.flow_state (id, user_id, auth_code, code_challenge_method, code_challenge, provider_type, created_at,
        updated_at, authentication_method, auth_code_issued_at, linking_target_id)
      VALUES ('${id}', ${text(userId)}, '${code ?? randomUUID()}', 'plain', '${VERIFIER}', 'google', '${now}', '${now}', 'oauth',
        ${code ? `'${now}'` : 'NULL'}, ${text(target)});`
}

const exchange = (app: ImportingApp, code: string) =>
  app.post('/token?grant_type=pkce', { auth_code: code, code_verifier: VERIFIER })
const flowsHere = (app: ImportingApp) => here(app, 'SELECT id, user_id FROM auth.flow_state ORDER BY id')

/** The rows that refer to a user, for each table that an import writes. */
function plantRows(userId: string): Readonly<Record<string, readonly string[]>> {
  const [session, factor] = [randomUUID(), randomUUID()]
  return {
    identities: [
      `INSERT INTO auth.identities (id, user_id, provider, provider_id, identity_data)
         VALUES (gen_random_uuid(), '${userId}', 'github', '${userId}', '{}')`,
    ],
    sessions: [
      `INSERT INTO auth.sessions (id, user_id, created_at, aal, factor_id)
         VALUES ('${session}', '${userId}', now(), 'aal2', '${factor}')`,
    ],
    mfa_amr_claims: [
      `INSERT INTO auth.mfa_amr_claims (id, session_id, authentication_method, created_at, updated_at)
         VALUES (gen_random_uuid(), '${session}', 'password', now(), now())`,
    ],
    mfa_factors: [
      `INSERT INTO auth.mfa_factors (id, user_id, factor_type, status, secret, created_at, updated_at)
         VALUES ('${factor}', '${userId}', 'totp', 'verified', 'NB2HI4DTHIXS6', now(), now())`,
    ],
    refresh_tokens: [
      `INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, session_id, created_at, updated_at)
         VALUES (NULL, 'planted ${userId}', '${userId}', false, '${session}', now(), now())`,
    ],
    webauthn_credentials: [
      `INSERT INTO auth.webauthn_credentials (id, user_id, credential_id, public_key, attestation_type, sign_count, transports, friendly_name)
         VALUES (gen_random_uuid(), '${userId}', decode(md5('${userId}'), 'hex'), '\\x01', 'none', 0, '[]', 'planted')`,
    ],
    audit_log_entries: [
      `INSERT INTO auth.audit_log_entries (instance_id, id, payload, created_at)
         SELECT '00000000-0000-0000-0000-000000000000', gen_random_uuid(),
           json_build_object('action', 'login', 'actor_id', '${userId}', 'traits', json_build_object('user_id', '${userId}')), now()`,
    ],
  }
}

it('takes no row of any table for users who were here before, whether the source has them or not', async () => {
  const app = await openImporting('v2.196.0')
  const [own, same] = [randomUUID(), idOf(app, 'totp')]
  await here(
    app,
    `INSERT INTO auth.users (id, email) VALUES ('${own}', 'own@example.com'), ('${same}', 'same@example.com')`,
  )
  const flows = [
    { id: randomUUID(), userId: own, code: randomUUID() },
    { id: randomUUID(), userId: same, code: randomUUID() },
    { id: randomUUID(), userId: null, target: own },
    { id: randomUUID(), userId: idOf(app, 'plain'), target: same, code: randomUUID() },
  ]
  const planted = { [own]: plantRows(own), [same]: plantRows(same) }
  const token = 'ab'.repeat(28)
  await atSource(
    app,
    `SET session_replication_role = replica;
     ${Object.values(planted).flatMap(Object.values).flat().join(';')};
     UPDATE auth.users SET recovery_token = '${token}', recovery_sent_at = '${app.deps.now().toISOString()}' WHERE id = '${same}';
     ${flows.map((flow) => addFlow(app, flow)).join('')}`,
  )
  const { tables, heldBack } = await app.run()
  const reason = 'belongs to a user here who was not taken over'
  expect(heldBack).toEqual([
    ...flows.map(({ id }) => ({ kind: 'flow', id, reason })).sort((one, two) => (one.id < two.id ? -1 : 1)),
    {
      kind: 'provider',
      id: expect.any(String),
      reason: 'could sign in as users here who were not taken over: create it again by POST /admin/custom-providers',
    },
    { kind: 'user', id: same, reason: 'was here before the import' },
  ])
  // Custom providers refer to no user, and the codes of a user are in the user row.
  const named = ['users', 'flow_state', 'one_time_tokens', ...Object.keys(plantRows(own))]
  expect([...named, 'custom_oauth_providers'].sort()).toEqual(tables.map(({ table }) => table).sort())
  for (const table of named) {
    const rows = await here(
      app,
      `SELECT to_jsonb(t) - '{payload,email,created_at}'::text[] AS row FROM auth.${table} t
       WHERE (to_jsonb(t) - 'payload')::text ~ '${own}|${same}' AND ${table === 'users' ? 'email IS NULL' : 'true'}`,
    )
    expect([table, rows]).toEqual([table, []])
  }
  const refused = await exchange(app, flows[0]?.code ?? '')
  expect(statusAndBody(refused)).toEqual([404, expect.anything()])
})

it('takes the flow of a user whom an earlier run has taken over', async () => {
  const app = await openImportedVersion('v2.196.0')
  const [id, code, userId] = [randomUUID(), randomUUID(), idOf(app, 'plain')]
  await atSource(app, addFlow(app, { id, userId, code }))
  const { tables, heldBack } = await app.run()
  const changed = tables.filter(({ added, changed, deleted }) => added + changed + deleted > 0)
  expect({ changed, heldBack }).toEqual({
    changed: [{ table: 'flow_state', added: 1, changed: 0, deleted: 0 }],
    heldBack: [],
  })
  const exchanged = await exchange(app, code)
  expect(statusAndBody(exchanged)).toEqual([200, plainSession(app.user('plain'))])
})

it('takes no flow of a user who has changed here since an earlier run', async () => {
  const app = await openImportedVersion('v2.196.0')
  const before = await flowsHere(app)
  const [id, userId] = [randomUUID(), idOf(app, 'plain')]
  await here(app, `UPDATE auth.users SET encrypted_password = '' WHERE id = '${userId}'`)
  await atSource(app, addFlow(app, { id, userId, code: randomUUID() }))
  expect((await app.run()).heldBack).toEqual([
    { kind: 'flow', id, reason: 'belongs to a user here who was not taken over' },
    { kind: 'user', id: userId, reason: 'has changed here since its import' },
  ])
  expect(await flowsHere(app)).toEqual(before)
})

it('takes no flow of a user whom neither side has', async () => {
  const app = await openImporting('v2.196.0')
  const ids = [randomUUID(), randomUUID()]
  await atSource(
    app,
    `${addFlow(app, { id: ids[0] ?? '', userId: randomUUID(), code: randomUUID() })}
     ${addFlow(app, { id: ids[1] ?? '', userId: null, target: randomUUID() })}`,
  )
  expect((await app.run()).heldBack).toEqual([])
  expect(await here(app, `SELECT id FROM auth.flow_state WHERE id IN ('${ids.join("','")}')`)).toEqual([])
})

it('takes no sign-in that waits for a provider beside users who were here before, and counts them', async () => {
  const app = await openImporting('v2.196.0')
  await here(app, `INSERT INTO auth.users (id, email) VALUES ('${randomUUID()}', 'own@example.com')`)
  const id = randomUUID()
  await atSource(app, addFlow(app, { id, userId: null }))
  const { heldBack, losses } = await app.run()
  expect(heldBack.filter(({ kind }) => kind === 'flow')).toEqual([])
  expect(losses.filter(({ what }) => what.startsWith('sign-ins'))).toEqual([
    {
      what: 'sign-ins that wait for a provider: they could end in sessions of users who were here before, and begin again',
      count: 1,
    },
  ])
  expect(await flowsHere(app)).not.toContainEqual({ id, user_id: null })
})

it('takes a sign-in that waits for a provider where all users come from the source', async () => {
  const app = await openImporting('v2.196.0')
  const id = randomUUID()
  await atSource(app, addFlow(app, { id, userId: null }))
  expect((await app.run()).losses.filter(({ what }) => what.startsWith('sign-ins'))).toEqual([])
  expect(await flowsHere(app)).toContainEqual({ id, user_id: null })
})
