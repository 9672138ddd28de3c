import { createHash } from 'node:crypto'
import fc from 'fast-check'
import type { PlanSources } from '../plans.ts'
import { known, knownTogether, type Lexicon } from '../valid-value.ts'

/** The password of every account. No answer may contain it. */
export const PASSWORD = 'canary-Horse-7-battery'
const NOBODY = '7c0fd9a2-5f0e-4b55-9c53-0d1f0a6f3e11'
const VERIFIER = 'v'.repeat(64)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
/** Phone numbers that accept TEST_CODE and get no messages. */
export const TEST_PHONES = ['4520000001', '4520000002', '4520000003']
export const TEST_CODE = '271828'

const fresh = fc.nat(1_000_000).map((number) => `user${number}@fuzz.example`)
const email = fc.oneof({ weight: 3, arbitrary: known('email', 'nobody@fuzz.example') }, { weight: 1, arbitrary: fresh })
const phone = fc.constantFrom(...TEST_PHONES)
const password = fc.constant(PASSWORD)
const data = fc.record({ full_name: fc.constantFrom('Ada', 'Søren Kierkegaard') })
const pkce = { code_challenge: fc.constant(CHALLENGE), code_challenge_method: fc.constant('s256') }
const mailTypes = ['signup', 'invite', 'magiclink', 'recovery', 'email_change', 'email', 'sms', 'phone_change']
const linkTypes = ['signup', 'invite', 'magiclink', 'recovery', 'email_change_current', 'email_change_new']

export const lexicon: Lexicon = {
  userId: fc.oneof({ weight: 6, arbitrary: known('userId', NOBODY) }, fc.uuid()),
  factorId: fc.oneof(
    known('factorId', NOBODY),
    knownTogether('proof', (part) => part('factorId', NOBODY)),
  ),
  challenge_id: known('challengeId', NOBODY),
  identityId: known('identityId', NOBODY),
  passkeyId: known('passkeyId', NOBODY),
  sessionId: known('sessionId', NOBODY),
  messageId: known('messageId', NOBODY),
  kid: known('kid', 'unknown-key'),
  identifier: known('identifier', 'custom:fuzz'),
  email,
  phone,
  password,
  data,
  current_password: password,
  new_email: fresh,
  user_metadata: data,
  app_metadata: fc.constant({ plan: 'free' }),
  ...pkce,
  code_verifier: fc.constant(VERIFIER),
  grant_type: fc.constantFrom('password', 'password', 'refresh_token', 'refresh_token', 'pkce', 'id_token', 'web3'),
  refresh_token: known('refreshToken', 'unknown-token'),
  auth_code: known('authCode', NOBODY),
  token: known('emailOtp', TEST_CODE),
  token_hash: known('hashedToken', 'f'.repeat(56)),
  // A code of an authenticator app or a provider. The test provider accepts any code.
  code: known('totpCode', TEST_CODE),
  state: known('state', NOBODY),
  nonce: known('emailOtp', TEST_CODE),
  type: fc.constantFrom(...mailTypes, ...linkTypes),
  factor_type: fc.constantFrom('totp', 'totp', 'phone', 'webauthn'),
  friendly_name: fc.nat(100).map((number) => `factor ${number}`),
  channel: fc.constantFrom('sms', 'sms', 'whatsapp'),
  provider: fc.constantFrom('keycloak', 'keycloak', 'google', 'custom:fuzz'),
  scopes: fc.constantFrom('email', 'email profile'),
  redirect_to: fc.constantFrom('http://localhost:3000/x', 'https://evil.example'),
  ban_duration: fc.constantFrom('none', 'none', '1h'),
  role: fc.constant('authenticated'),
  aud: fc.constant('authenticated'),
  id: fc.uuid(),
  scope: fc.constantFrom('local', 'others', 'global'),
  page: fc.integer({ min: 1, max: 3 }),
  per_page: fc.integer({ min: 1, max: 20 }),
  cursor: known('cursor', ''),
  sort: fc.constantFrom('created_at asc', 'created_at desc'),
  query: fc.constantFrom('author:a', 'action:login', 'type:user'),
  provider_type: fc.constantFrom('oauth2', 'oidc'),
  issuer: fc.constant('https://issuer.example'),
  should_soft_delete: fc.boolean(),
}

/** A user with a factor and a session. */
const ofOneAccount = knownTogether('account', (part) => ({
  params: { userId: part('userId', NOBODY), factorId: part('factorId', NOBODY), sessionId: part('sessionId', NOBODY) },
}))

export const together: PlanSources['together'] = {
  'DELETE /admin/users/{userId}/factors/{factorId}': ofOneAccount,
  'DELETE /operator/users/{userId}/factors/{factorId}': ofOneAccount,
  'DELETE /operator/users/{userId}/sessions/{sessionId}': ofOneAccount,
}

export const bodies: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  'POST /signup': fc.oneof(
    fc.record({ email: fresh, password, data }, { requiredKeys: ['email', 'password'] }),
    fc.record({ email, password, ...pkce }),
    fc.record({ phone, password }),
    fc.constant({}),
  ),
  'POST /token': fc.oneof(
    fc.record({ email: known('email', 'nobody@fuzz.example'), password }),
    fc.record({ refresh_token: known('refreshToken', 'unknown-token') }),
    fc.record({ auth_code: known('authCode', NOBODY), code_verifier: fc.constant(VERIFIER) }),
  ),
  'POST /verify': fc.oneof(
    fc.record({ type: fc.constantFrom(...mailTypes), token_hash: known('hashedToken', 'f'.repeat(56)) }),
    fc.record({
      type: fc.constantFrom(...mailTypes),
      email: known('email', 'nobody@fuzz.example'),
      token: known('emailOtp', TEST_CODE),
    }),
    fc.record({ type: fc.constantFrom('sms', 'phone_change'), phone, token: fc.constant(TEST_CODE) }),
  ),
  'POST /otp': fc.oneof(fc.record({ email }), fc.record({ phone }), fc.record({ email: fresh, data })),
  'POST /resend': fc.oneof(
    fc.record({ type: fc.constantFrom('signup', 'email_change'), email }),
    fc.record({ type: fc.constantFrom('sms', 'phone_change'), phone }),
  ),
  'POST /admin/users': fc.oneof(
    fc.record({ email: fresh, password, email_confirm: fc.boolean() }),
    fc.record({ phone, phone_confirm: fc.boolean(), user_metadata: data }),
  ),
  'POST /operator/users': fc.record({ email: fresh, password, email_confirm: fc.boolean(), user_metadata: data }),
  'POST /operator/users/invitations': fc.record({ email: fresh, user_metadata: data }),
  'PUT /operator/users/{userId}': fc.oneof(fc.record({ email: fresh }), fc.record({ password })),
  'PUT /operator/users/{userId}/ban': fc.record({ duration: fc.constantFrom('1s', '1h') }),
  'POST /admin/users/{userId}': fc.record({ email: fresh, password }),
  'PUT /admin/users/{userId}': fc.oneof(
    fc.record({ user_metadata: data }),
    fc.record({ email: fresh, email_confirm: fc.boolean() }),
  ),
  'POST /admin/generate_link': fc.record({ type: fc.constantFrom(...linkTypes), email, password, new_email: fresh }),
  'POST /factors': fc.oneof(
    fc.record({ factor_type: fc.constant('totp'), friendly_name: fc.uuid() }),
    fc.record({ factor_type: fc.constant('phone'), friendly_name: fc.uuid(), phone }),
    fc.record({ factor_type: fc.constant('webauthn'), friendly_name: fc.uuid() }),
  ),
  'POST /factors/{factorId}/verify': knownTogether('proof', (part) => ({
    challenge_id: part('challenge_id', NOBODY),
    code: part('code', TEST_CODE),
  })),
  'POST /factors/recovery-codes/verify': fc.record({ code: known('recoveryCode', 'aaaabbbbccccdddd') }),
  'PUT /user': fc.oneof(
    fc.record({ data }),
    fc.record({ password }),
    fc.record({ email: fresh }),
    fc.record({ phone }),
  ),
  'POST /callback': fc.record({ state: known('state', NOBODY), code: fc.nat(200).map((number) => `person-${number}`) }),
  'POST /passkeys/registration/verify': knownTogether('registration', (part) => ({
    challenge_id: part('challenge_id', NOBODY),
    credential: {
      id: part('id'),
      rawId: part('id'),
      type: 'public-key',
      response: { clientDataJSON: part('clientDataJSON'), attestationObject: part('attestationObject') },
    },
  })),
  'POST /passkeys/authentication/verify': knownTogether('assertion', (part) => ({
    challenge_id: part('challenge_id', NOBODY),
    credential: {
      id: part('id'),
      rawId: part('id'),
      type: 'public-key',
      response: {
        clientDataJSON: part('clientDataJSON'),
        authenticatorData: part('authenticatorData'),
        signature: part('signature'),
        userHandle: part('userHandle'),
      },
    },
  })),
  'PUT /admin/custom-providers/{identifier}': fc.record(
    {
      name: fc.constantFrom('Fuzz', 'Søren & co'),
      scopes: fc.constant(['email']),
      enabled: fc.boolean(),
      client_secret: fc.constant('canary-client-secret'),
      attribute_mapping: fc.constant({ email: 'mail' }),
    },
    { requiredKeys: [] },
  ),
  'POST /admin/custom-providers': fc.oneof(
    fc.record({
      identifier: fc.nat(50).map((number) => `custom:fuzz${number}`),
      provider_type: fc.constant('oauth2'),
      name: fc.constant('Fuzz'),
      client_id: fc.constant('client'),
      client_secret: fc.constant('canary-client-secret'),
      enabled: fc.boolean(),
      authorization_url: fc.constant('https://issuer.example/authorize'),
      token_url: fc.constant('https://issuer.example/token'),
      userinfo_url: fc.constant('https://issuer.example/userinfo'),
    }),
  ),
}
