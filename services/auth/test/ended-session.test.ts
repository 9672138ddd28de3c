import { createHash, randomUUID } from 'node:crypto'
import { afterAll, expect, it } from 'vitest'
import { openTestApp } from './auth-app.ts'
import { anyTime, errorBody, signedUpBody, statusAndBody } from './bodies.ts'
import { expectUser } from './expect-user.ts'
import { createSignedIn } from './signed-in.ts'

const test = await openTestApp({
  settings: {
    AUTH_PROFILE: 'strict',
    AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_CUSTOM_OAUTH_ENABLED: 'true',
    AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
    AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
    AUTH_PASSKEY_ENABLED: 'true',
    AUTH_WEBAUTHN_RP_ID: 'localhost',
    AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'Trestle',
    AUTH_WEBAUTHN_RP_ORIGINS: 'http://localhost:3000',
  },
})
afterAll(() => test.close())

const BODIES: Readonly<Record<string, object>> = {
  'POST /factors': { factor_type: 'totp' },
  'POST /factors/{factorId}/verify': { challenge_id: randomUUID(), code: '123456' },
  'PATCH /passkeys/{passkeyId}': { friendly_name: 'mine' },
  'POST /passkeys/registration/verify': {
    challenge_id: randomUUID(),
    credential: {
      id: 'AAAA',
      rawId: 'AAAA',
      type: 'public-key',
      response: { clientDataJSON: 'AAAA', attestationObject: 'AAAA' },
      clientExtensionResults: {},
    },
  },
}
const QUERIES: Readonly<Record<string, object>> = {
  'GET /user/identities/authorize': {
    provider: 'keycloak',
    code_challenge: createHash('sha256').update('verifier').digest('base64url'),
    code_challenge_method: 's256',
  },
}

interface Api {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly security?: readonly object[] }>>>>
}
const { paths }: Api = JSON.parse(JSON.stringify(await test.app.describeApi()))
const guarded = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, { security }]) => security === undefined)
    .map(([method]) => `${method.toUpperCase()} ${path}`),
)

// The user is an admin, so that admin endpoints are tested too.
const { headers, ...admin } = await createSignedIn(test, { role: 'service_role' })
const ask = (called: string) => {
  const [method = '', path = ''] = called.split(' ')
  const url = `${path.replaceAll(/\{\w+\}/g, randomUUID())}?${new URLSearchParams({ ...QUERIES[called] })}`
  const payload = method === 'GET' ? {} : { payload: BODIES[called] ?? {} }
  return test.app.inject({ method: method as 'GET', url, headers, ...payload })
}
// End the session before the first test, so that each test can run alone.
const ownUser = await ask('GET /user')
const users = await ask('GET /admin/users')
const signedOut = await ask('POST /logout')

it('succeeds before the session ends', () => {
  expectUser(ownUser, signedUpBody(admin, { role: 'service_role', last_sign_in_at: anyTime }))
  expect(users.statusCode).toBe(200)
  expect(statusAndBody(signedOut)).toEqual([204, ''])
})

// ASVS 7.4.1
it.each(guarded)('403: %s refuses a token of an ended session in the strict profile', async (called) => {
  expect(statusAndBody(await ask(called))).toEqual([
    403,
    errorBody(403, 'session_not_found', 'Session from session_id claim in JWT does not exist'),
  ])
})

it('covers every endpoint that needs an access token', () => {
  expect(guarded.length).toBeGreaterThan(35)
})
