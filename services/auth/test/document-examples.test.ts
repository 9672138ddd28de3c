import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import document from '../../../docs/openapi/auth.json' with { type: 'json' }
import { totpCode } from './authenticator-app.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openMailApp } from './mail-app.ts'

const SETTINGS = {
  AUTH_MAILER_AUTOCONFIRM: 'true',
  AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
  AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
  AUTH_CUSTOM_OAUTH_ENABLED: 'true',
}
/** They need an authenticator in a browser, or a form that a provider posts. */
const WITHOUT_EXAMPLE = [
  'finishPasskeyRegistration',
  'finishPasskeySignIn',
  'finishProviderSignInByForm',
  'updatePasskey',
]
const EMAIL = 'ada@example.com'
const PASSWORD = 'correct horse battery staple'
const OTHER_ID = 'a11ce000-0000-4000-8000-000000000000'
const PROVIDER = {
  provider_type: 'oauth2',
  identifier: 'custom:wiki',
  name: 'Wiki',
  client_id: 'trestle',
  client_secret: 'a secret of the provider',
  authorization_url: 'https://wiki.example/authorize',
  token_url: 'https://wiki.example/token',
  userinfo_url: 'https://wiki.example/userinfo',
}

const Answer = z.looseObject({
  id: z.string().default(''),
  access_token: z.string().default(''),
  refresh_token: z.string().default(''),
  hashed_token: z.string().default(''),
  codes: z.array(z.string()).default([]),
  totp: z.looseObject({ secret: z.string() }).optional(),
})

/** A request: the operation with the name of the example, method and URL, and the body. */
interface Step {
  readonly is: string
  readonly request: string
  readonly body: object
  readonly headers?: Readonly<Record<string, string>>
}

type Call = (step: Step) => Promise<z.output<typeof Answer>>
type Examples = Record<string, Record<string, { request: object; answers: Record<string, unknown> }>>

let test: MailApp
const examples: Examples = {}
beforeAll(async () => {
  test = await openMailApp(SETTINGS)
  const mask = createMask()
  const call: Call = async ({ is, request, body, headers = {} }) => {
    const [operationId = '', name = 'usual'] = is.split(' ')
    const [method = '', url = ''] = request.split(' ')
    const verb = z.enum(['POST', 'PUT', 'DELETE']).parse(method)
    const answer = await test.app.inject({ method: verb, url, headers, payload: body })
    if (answer.statusCode >= 300) throw new Error(`${request}: ${answer.statusCode} ${answer.body}`)
    const answers = { [answer.statusCode]: mask('', answer.json()) }
    examples[operationId] = { ...examples[operationId], [name]: { request: { body: mask('', body) }, answers } }
    return Answer.parse(answer.json())
  }
  await useAccount(call)
  await administrate(call)
})
afterAll(() => test.close())

it('writes the examples of the API document from what the service answers', async () => {
  const file = join(import.meta.dirname, '..', 'src', 'openapi-examples.json')
  await expect(`${JSON.stringify(examples, null, 2)}\n`).toMatchFileSnapshot(file)
})

it('has an example of each operation that takes a body', async () => {
  const operations: readonly { operationId: string; requestBody?: object }[] = Object.values(document.paths).flatMap(
    (methods) => Object.values(methods),
  )
  const withBody = operations.flatMap(({ operationId, requestBody }) => (requestBody ? [operationId] : []))
  expect(withBody.filter((id) => !(id in examples)).sort()).toEqual(WITHOUT_EXAMPLE)
})

/** What a user does with the own account. */
async function useAccount(call: Call): Promise<void> {
  const data = { name: 'Ada' }
  await call({ is: 'signUp', request: 'POST /signup', body: { email: EMAIL, password: PASSWORD, data } })
  const token = 'POST /token?grant_type='
  const first = await call({
    is: 'createSession password',
    request: `${token}password`,
    body: { email: EMAIL, password: PASSWORD },
  })
  const { refresh_token } = first
  const { access_token } = await call({
    is: 'createSession refresh',
    request: `${token}refresh_token`,
    body: { refresh_token },
  })
  const headers = { authorization: `Bearer ${access_token}` }
  await call({ is: 'updateUser', request: 'PUT /user', body: { data: { name: 'Ada Lovelace' } }, headers })
  for (const [is, path] of [
    ['sendOneTimeCode', 'otp'],
    ['sendMagicLink', 'magiclink'],
    ['recoverAccount', 'recover'],
  ] as const)
    await call({ is, request: `POST /${path}`, body: { email: `${is}@example.com` } })
  await call({ is: 'resendMessage', request: 'POST /resend', body: { type: 'signup', email: 'margaret@example.com' } })
  await useFactors(call, headers)
}

async function useFactors(call: Call, headers: Readonly<Record<string, string>>): Promise<void> {
  const body = { factor_type: 'totp', friendly_name: 'Phone' }
  const { id, totp } = await call({ is: 'enrolFactor', request: 'POST /factors', body, headers })
  const asked = await call({ is: 'challengeFactor', request: `POST /factors/${id}/challenge`, body: {}, headers })
  const code = totpCode(totp?.secret ?? '', test.clock.now())
  const answer = { challenge_id: asked.id, code }
  const raised = await call({ is: 'verifyFactor', request: `POST /factors/${id}/verify`, body: answer, headers })
  const owner = { authorization: `Bearer ${raised.access_token}` }
  const codes = '/factors/recovery-codes'
  // Factors are listed by age.
  test.clock.advance(1)
  const made = await call({ is: 'createRecoveryCodes', request: `POST ${codes}`, body: {}, headers: owner })
  await call({
    is: 'verifyRecoveryCode',
    request: `POST ${codes}/verify`,
    body: { code: made.codes[0] },
    headers: owner,
  })
}

/** What an admin does. */
async function administrate(call: Call): Promise<void> {
  const as = (step: Step) => call({ ...step, headers: OPERATOR })
  const person = { email: 'grace@example.com', password: PASSWORD, email_confirm: true }
  const { id } = await as({ is: 'createUser', request: 'POST /admin/users', body: person })
  await as({ is: 'createUserWithId', request: `POST /admin/users/${OTHER_ID}`, body: { email: 'alan@example.com' } })
  await as({ is: 'updateUserById', request: `PUT /admin/users/${id}`, body: { user_metadata: { name: 'Grace' } } })
  await as({ is: 'inviteUser', request: 'POST /invite', body: { email: 'edsger@example.com' } })
  const link = { type: 'magiclink', email: 'grace@example.com' }
  const { hashed_token: token_hash } = await as({
    is: 'generateLink',
    request: 'POST /admin/generate_link',
    body: link,
  })
  const { access_token } = await call({
    is: 'verifyCode',
    request: 'POST /verify',
    body: { type: 'magiclink', token_hash },
  })
  const headers = { authorization: `Bearer ${access_token}` }
  const payload = { factor_type: 'totp', friendly_name: 'Tablet' }
  const factor = await test.post('/factors', payload, headers)
  const path = `/admin/users/${id}/factors/${factor.json().id}`
  await as({ is: 'updateUserFactor', request: `PUT ${path}`, body: { friendly_name: 'Old tablet' } })
  const providers = '/admin/custom-providers'
  await as({ is: 'createCustomProvider', request: `POST ${providers}`, body: PROVIDER })
  await as({ is: 'updateCustomProvider', request: `PUT ${providers}/custom:wiki`, body: { name: 'Our wiki' } })
  await as({ is: 'deleteUser', request: `DELETE /admin/users/${id}`, body: { should_soft_delete: true } })
}

/** Texts that differ in each run, by the names of their members. */
const MASKED: Readonly<Record<string, unknown>> = {
  access_token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIwMDAwMDAwMSJ9.c2lnbmF0dXJl',
  refresh_token: 'pZ3vC0bTq8yKfWn1sLx6RdAe',
  hashed_token: '4ee1b1f3b4c24f3c8d1d4f6b1f0d7a2b9e8c7d6f5a4b3c2d1e0f9a8b',
  token: '4ee1b1f3b4c24f3c8d1d4f6b1f0d7a2b9e8c7d6f5a4b3c2d1e0f9a8b',
  token_hash: '4ee1b1f3b4c24f3c8d1d4f6b1f0d7a2b9e8c7d6f5a4b3c2d1e0f9a8b',
  action_link: 'http://localhost:8081/verify?token=4ee1b1f3b4c24f3c&type=magiclink&redirect_to=http://localhost:3000',
  email_otp: '123456',
  code: '123456',
  codes: ['ABCD-EFGH-IJKL', 'MNOP-QRST-UVWX'],
  secret: 'JBSWY3DPEHPK3PXP',
  qr_code: 'data:image/svg+xml;utf-8,…',
  uri: 'otpauth://totp/localhost:3000:ada@example.com?secret=JBSWY3DPEHPK3PXP&issuer=localhost:3000',
  expires_at: 1_767_326_645,
}

/** Replaces what differs in each run: tokens, times, and ids by the order in which they appear. */
function createMask() {
  const ids = new Map<string, string>()
  const maskId = (id: string) => {
    const known = ids.get(id) ?? `00000000-0000-4000-8000-${String(ids.size + 1).padStart(12, '0')}`
    ids.set(id, known)
    return known
  }
  const mask = (name: string, value: unknown): unknown => {
    if (Array.isArray(value) && !(name in MASKED)) return value.map((item) => mask('', item))
    if (name in MASKED) return MASKED[name]
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mask(key, member)]))
    if (typeof value !== 'string') return value
    if (/^\d{4}-\d\d-\d\dT/.test(value)) return '2026-01-02T03:04:05.123456+00:00'
    return value.replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, maskId)
  }
  return mask
}
