import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { expect, it } from 'vitest'
import { adoptCommand } from '../../src/adoption/commands/adopt.ts'
import { createQuietDeps } from '../../src/commands/operator-deps.ts'
import { type AdoptedApp, openAdopted, type Restored, restore, restoreAdopted } from './adopted-app.ts'
import { runSql, type Version } from './restored-database.ts'

const SETTINGS = { AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true', AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true' }

/** Sends a successful request of a user. @param token empty for none @returns the body of the response */
async function send({ app }: AdoptedApp, url: string, token: string, payload: object) {
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` }
  const answer = await app.inject({ method: 'POST', url, headers, payload })
  expect([url, answer.statusCode, answer.statusCode === 200 ? '' : answer.body]).toEqual([url, 200, ''])
  return answer.json()
}

/** Enrols and verifies a security key. @returns the access token of the stepped-up session */
async function enrolKey(app: AdoptedApp, token: string): Promise<string> {
  const { id } = await send(app, '/factors', token, { factor_type: 'webauthn', friendly_name: 'key' })
  const { id: challenge_id, webauthn } = await send(app, `/factors/${id}/challenge`, token, {})
  const asked = webauthn.credential_options.publicKey
  const credential_response = createAuthenticator('http://localhost:3000').create(asked, { backupEligible: true })
  const shown = { challenge_id, webauthn: { type: 'create', credential_response } }
  return (await send(app, `/factors/${id}/verify`, token, shown)).access_token
}

async function registerPasskey(app: AdoptedApp, token: string): Promise<void> {
  const { challenge_id, options } = await send(app, '/passkeys/registration/options', token, {})
  const credential = createAuthenticator('http://localhost:3000').create(options, { backupEligible: true })
  await send(app, '/passkeys/registration/verify', token, { challenge_id, credential })
}

/** Gives `plain` a security key, a passkey and recovery codes. `since` begins to enrol a key and a phone. */
async function enrolAll(restored: Restored): Promise<void> {
  const app = await openAdopted(restored, SETTINGS)
  const { email, password } = app.user('plain') ?? {}
  const signedIn = await send(app, '/token?grant_type=password', '', { email, password })
  const token = await enrolKey(app, signedIn.access_token)
  await registerPasskey(app, token)
  await send(app, '/factors/recovery-codes', token, {})
  const { access_token } = await send(app, '/signup', '', {
    email: 'since@example.com',
    password: 'a new horse of mine',
  })
  await send(app, '/factors', access_token, { factor_type: 'webauthn', friendly_name: 'key' })
  await send(app, '/factors', access_token, { factor_type: 'phone', friendly_name: 'phone', phone: '+33612345672' })
}

async function undoByCommand({ deps }: Restored): Promise<readonly string[]> {
  const lines: string[] = []
  const print = (line: string) => lines.push(line)
  const command = adoptCommand(() => createQuietDeps(deps.config), { print, ask: async () => 'y' })
  await command.parseAsync(['--undo'], { from: 'user' })
  return lines
}

const listFactors = ({ database }: Restored) =>
  runSql(
    database.superuserUrl,
    `SELECT id, user_id, factor_type::text, status::text, secret FROM auth.mfa_factors ORDER BY id`,
  )

/** The columns of factors, and the allowed types. */
const readTable = ({ database }: Restored) =>
  runSql(
    database.superuserUrl,
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = 'auth.mfa_factors'::regclass AND attnum > 0 AND NOT attisdropped
     UNION ALL SELECT enumlabel FROM pg_enum WHERE enumtypid = 'auth.factor_type'::regtype ORDER BY name`,
  )

it.each(['v2.43.1', 'v2.101.0', 'v2.151.0'] satisfies readonly Version[])(
  'adopt --undo on %s removes phones and security keys, which its supabase/auth would take for apps without a secret, after it has said so',
  async (version) => {
    const restored = await restoreAdopted(version)
    const before = await listFactors(restored)
    await enrolAll(restored)
    expect((await undoByCommand(restored)).slice(1)).toEqual([
      '1 phones are second factors, which this version of supabase/auth cannot have: they are removed',
      '2 security keys are second factors, which this version of supabase/auth cannot have: they are removed',
      '1 users have no other second factor: they sign in with a password alone there',
      '1 passkeys are removed, which this version of supabase/auth cannot have: nobody signs in by them there',
      '1 users have recovery codes, which supabase/auth cannot have: they are removed',
      'the old service has its database back',
    ])
    expect(await listFactors(restored)).toEqual(before)
    expect(await readTable(restored)).toEqual(await readTable(await restore(version)))
  },
)

it('adopt --undo on v2.196.0 keeps security keys, phones and passkeys, and says that recovery codes go', async () => {
  const restored = await restoreAdopted('v2.196.0')
  const before = await listFactors(restored)
  await enrolAll(restored)
  const url = restored.database.superuserUrl
  await runSql(url, `UPDATE auth.users SET console_role = 'admin' WHERE email = 'since@example.com'`)
  expect((await undoByCommand(restored)).slice(1)).toEqual([
    '1 users have recovery codes, which supabase/auth cannot have: they are removed',
    '1 users are operators of the console, which supabase/auth does not have',
    'the old service has its database back',
  ])
  expect(await listFactors(restored)).toHaveLength(before.length + 3)
  // supabase/auth rejects a backup-eligible credential if its stored flag says otherwise.
  const eligible = await runSql<{ eligible: boolean }>(
    url,
    `SELECT web_authn_credential #> '{flags,backupEligible}' AS eligible FROM auth.mfa_factors
       WHERE factor_type = 'webauthn' AND status = 'verified'
     UNION ALL SELECT to_jsonb(backup_eligible) FROM auth.webauthn_credentials ORDER BY 1`,
  )
  expect(eligible.map((row) => row.eligible)).toEqual([false, false, true, true])
})

it('adopt --undo gives an authenticator app without a secret one that nobody knows', async () => {
  const restored = await restoreAdopted('v2.151.0')
  const url = restored.database.superuserUrl
  await runSql(
    url,
    `INSERT INTO auth.mfa_factors (id, user_id, factor_type, status, created_at, updated_at)
     SELECT '00000000-0000-4000-8000-000000000001', id, 'totp', 'verified', now(), now() FROM auth.users WHERE email IS NOT NULL LIMIT 1`,
  )
  await undoByCommand(restored)
  const secrets = await runSql<{ secret: string }>(
    url,
    `SELECT secret FROM auth.mfa_factors WHERE id = '00000000-0000-4000-8000-000000000001'`,
  )
  expect(secrets).toEqual([{ secret: expect.stringMatching(/^[A-Z2-7]{64}$/) }])
})
