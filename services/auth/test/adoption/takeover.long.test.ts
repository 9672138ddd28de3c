import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { totpCode } from '../authenticator-app.ts'
import { errorBody, statusAndBody } from '../bodies.ts'
import { forge, hmac } from '../forged-token.ts'
import { type AdoptedApp, adopt, authenticatorOf, openAdopted, prepare, type Restored, restore } from './adopted-app.ts'
import { plainSignIn } from './plain-user.ts'
import { type OldUser, runSql } from './restored-database.ts'

const named = ({ database }: Restored, name: string): OldUser => {
  const user = database.manifest.users.find((each) => each.name === name)
  if (user === undefined) throw new Error(`every version has a user ${name}`)
  return user
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const signIn = (app: AdoptedApp, fields: object) => app.post('/token?grant_type=password', fields)

const insertUser = ({ database }: Restored, id: string, columns: Readonly<Record<string, string>>) =>
  runSql(
    database.superuserUrl,
    `INSERT INTO auth.users (instance_id, id, aud, role, confirmation_token, recovery_token, email_change_token_new, email_change,
       created_at, ${Object.keys(columns).join(', ')})
     VALUES ('00000000-0000-0000-0000-000000000000', '${id}', 'authenticated', 'authenticated', '', '', '', '',
       now(), ${Object.values(columns).join(', ')})`,
  )

it('an address leads into the account of its oldest confirmed user, and never into that of an SSO user', async () => {
  const restored = await restore('v2.196.0')
  const [owner, other] = [named(restored, 'plain'), named(restored, 'phone')]
  const [stranger, sso, lone] = ['1', '2', '3'].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`)
  const hash = `(SELECT encrypted_password FROM auth.users WHERE id = '${other.id}')`
  const shared = `upper('${owner.email}')`
  await insertUser(restored, stranger ?? '', { email: shared, encrypted_password: hash, email_confirmed_at: 'now()' })
  await insertUser(restored, sso ?? '', { email: `'${owner.email}'`, email_confirmed_at: 'now()', is_sso_user: 'true' })
  await insertUser(restored, lone ?? '', {
    email: `'sso@sso.example'`,
    email_confirmed_at: 'now()',
    is_sso_user: 'true',
  })
  await adopt(restored)
  const app = await openAdopted(restored)
  const operator = bearer(
    forge(
      { alg: 'HS256', typ: 'JWT' },
      { role: 'service_role', exp: Math.floor(app.deps.now().getTime() / 1_000) + 600 },
      hmac(restored.database.manifest.jwt_secret),
    ),
  )
  for (const email of [owner.email, owner.email?.toUpperCase()]) {
    expect(statusAndBody(await signIn(app, { email, password: other.password }))).toEqual([
      400,
      errorBody(400, 'invalid_credentials', 'Invalid login credentials'),
    ])
    const signedIn = await signIn(app, { email, password: owner.password })
    expect(statusAndBody(signedIn)).toEqual([200, plainSignIn(owner)])
  }
  for (const email of [owner.email, owner.email?.toUpperCase()]) {
    const link = await app.post('/admin/generate_link', { type: 'recovery', email }, operator)
    expect([link.statusCode, link.json().id]).toEqual([200, owner.id])
  }
  // A signed-in user cannot take over the address either.
  const { access_token: token } = (await signIn(app, { phone: other.phone, password: other.password })).json()
  const change = await app.app.inject({
    method: 'PUT',
    url: '/user',
    headers: bearer(String(token)),
    payload: { email: owner.email?.toUpperCase() },
  })
  expect(statusAndBody(change)).toEqual([
    422,
    errorBody(422, 'email_exists', 'A user with this email address has already been registered'),
  ])
  const nobody = await app.post('/admin/generate_link', { type: 'recovery', email: 'sso@sso.example' }, operator)
  expect(statusAndBody(nobody)).toEqual([404, errorBody(404, 'user_not_found', 'User with this email not found')])
  const fields = { email: 'sso@sso.example', password: 'correct horse battery' }
  const signedUp = await app.post('/signup', fields)
  expect([signedUp.statusCode, signedUp.json().user?.id === lone]).toEqual([200, false])
  expect((await signIn(app, fields)).json().user?.id).toBe(signedUp.json().user?.id)
})

/** Tries every way in which users of the old service might sign in. Returns the result of each. */
async function tryAllWays(app: AdoptedApp, restored: Restored): Promise<Readonly<Record<string, string>>> {
  const [plain, recovering, invited] = ['plain', 'recovering', 'invited'].map((name) => named(restored, name))
  const { passkey, pkce } = { ...named(restored, 'passkey'), pkce: named(restored, 'flow').pkce }
  if (passkey === undefined) throw new Error('this version has passkeys')
  const { challenge_id, options } = (await app.post('/passkeys/authentication/options', {})).json()
  const credential = authenticatorOf(passkey).get(options)
  const [session] = plain?.sessions ?? []
  const { type, email_otp: code } = recovering?.pending ?? {}
  const answers = {
    password: await signIn(app, { email: plain?.email, password: plain?.password }),
    'refresh token': await app.post('/token?grant_type=refresh_token', { refresh_token: session?.refresh_token }),
    'access token': await app.app.inject({ url: '/user', headers: bearer(session?.access_token ?? '') }),
    code: await app.post('/verify', { type, email: recovering?.email, token: code }),
    link: await app.post('/verify', { type: 'invite', token_hash: invited?.pending?.hashed_token }),
    'code of a flow': await app.post('/token?grant_type=pkce', { ...pkce }),
    passkey: await app.post('/passkeys/authentication/verify', { challenge_id, credential }),
  }
  return Object.fromEntries(
    Object.entries(answers).map(([way, answer]) => [way, `${answer.statusCode} ${answer.json().error_code}`]),
  )
}

it.each([
  [
    'banned',
    `banned_until = '2999-01-01'`,
    {
      password: '400 user_banned',
      'refresh token': '400 user_banned',
      'access token': '403 user_banned',
      code: '403 user_banned',
      link: '403 user_banned',
      'code of a flow': '400 user_banned',
      passkey: '403 user_banned',
    },
  ],
  [
    'soft-deleted',
    'deleted_at = now()',
    {
      password: '400 invalid_credentials',
      'refresh token': '400 refresh_token_not_found',
      'access token': '403 session_not_found',
      code: '403 otp_expired',
      link: '403 otp_expired',
      'code of a flow': '404 flow_state_not_found',
      passkey: '400 webauthn_verification_failed',
    },
  ],
])('a user whom the old service has %s gets in by no way after the switch', async (_state, change, expected) => {
  const restored = await restore('v2.196.0')
  await runSql(restored.database.superuserUrl, `UPDATE auth.users SET ${change}`)
  await adopt(restored)
  expect(await tryAllWays(await openAdopted(restored), restored)).toEqual(expected)
})

it('an authenticator app that was asked before the switch is answered after it, once and for the lifetime of a challenge', async () => {
  const restored = await restore('v2.196.0')
  const user = named(restored, 'totp')
  const { factor_id: factorId = '', secret = '' } = user.totp ?? {}
  const [open, spent, late, elsewhere] = [1, 2, 3, 4].map((digit) => `00000000-0000-4000-8000-00000000000${digit}`)
  await runSql(
    restored.database.superuserUrl,
    `INSERT INTO auth.mfa_challenges (id, factor_id, created_at, verified_at, ip_address)
     SELECT id::uuid, '${factorId}', '${restored.database.manifest.made}'::timestamptz - age::interval, verified::timestamptz, ip::inet
     FROM (VALUES ('${open}', '0', NULL, '127.0.0.1'), ('${spent}', '0', now(), '127.0.0.1'), ('${late}', '1 hour', NULL, '127.0.0.1'),
       ('${elsewhere}', '0', NULL, '192.0.2.1')) c (id, age, verified, ip)`,
  )
  await adopt(restored)
  const app = await openAdopted(restored)
  const headers = bearer((await signIn(app, { email: user.email, password: user.password })).json().access_token)
  const code = totpCode(secret, app.deps.now())
  const verify = async (challengeId: string | undefined) => {
    const answer = await app.post(`/factors/${factorId}/verify`, { challenge_id: challengeId, code }, headers)
    return `${answer.statusCode} ${answer.json().error_code}`
  }
  const challenge = async () => (await app.post(`/factors/${factorId}/challenge`, {}, headers)).json().id
  const answers = [await verify(spent), await verify(late), await verify(elsewhere), await verify(open)]
  expect([...answers, await verify(await challenge())]).toEqual([
    '422 mfa_factor_not_found',
    '422 mfa_factor_not_found',
    '422 mfa_ip_address_mismatch',
    '200 undefined',
    '422 mfa_verification_failed',
  ])
})

it('auth adopt in all its forms refuses to run while another run is at work, names its process, and changes nothing', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  await withDatabase({ url: superuserUrl }, (db) =>
    db.connection().execute(async (other) => {
      const { rows } = await sql<{ pid: number; user: string }>`
        SELECT pg_backend_pid() AS pid, current_user AS "user", pg_advisory_lock(hashtext('auth adopt auth'))`.execute(
        other,
      )
      const [owner] = rows
      const reason = new Error(
        `another run of auth adopt is at work: wait until it has ended; process ${owner?.pid} of PostgreSQL, of the user ${owner?.user}, holds it`,
      )
      await expect(undoAdoption(restored.deps, () => expect.fail('asked'))).rejects.toThrow(reason)
      await expect(prepare(restored)).rejects.toThrow(reason)
      await expect(adopt(restored)).rejects.toThrow(reason)
    }),
  )
  expect(await runSql(superuserUrl, `SELECT to_regnamespace('auth_before_trestle') AS kept`)).toEqual([{ kept: null }])
})

it('two runs of auth adopt at once end like one: each ends well, or says that the other one is at work', async () => {
  const restored = await restore('v2.101.0')
  const outcomes = await Promise.allSettled([adopt(restored), adopt(restored)])
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
  expect(refused.filter((reason) => !reason.includes('another run of auth adopt is at work'))).toEqual([])
  // After a rejected run, an operator runs the command again.
  await adopt(restored)
  const { url, superuserUrl } = restored.database
  expect(
    await runSql(
      url,
      `SELECT indisvalid AS valid, indisunique AS once FROM pg_index WHERE indexrelid = 'auth.users_email_lower_key'::regclass`,
    ),
  ).toEqual([{ valid: true, once: true }])
  expect(
    await runSql(superuserUrl, 'SELECT finished_at IS NOT NULL AS done FROM auth_before_trestle.adoption'),
  ).toEqual([{ done: true }])
  const app = await openAdopted(restored)
  const { email, password, id } = named(restored, 'plain')
  expect((await signIn(app, { email, password })).json().user?.id).toBe(id)
})
