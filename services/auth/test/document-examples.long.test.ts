import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { inlineSchemas } from '@trestle/testing/inline-schemas.ts'
import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import openApi from '../../../docs/openapi/auth.json' with { type: 'json' }
import { totpCode } from './authenticator-app.ts'
import { errorBody, statusAndBody } from './bodies.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { createOperator, OPERATOR_SETTINGS, type SignedInOperator } from './operators.ts'

const ORIGIN = 'http://localhost:3000'
const SETTINGS = {
  ...OPERATOR_SETTINGS,
  AUTH_MAILER_AUTOCONFIRM: 'true',
  AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
  AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
  AUTH_CUSTOM_OAUTH_ENABLED: 'true',
  AUTH_OPERATOR_SIGN_IN_AS: 'true',
  AUTH_PASSKEY_ENABLED: 'true',
  AUTH_WEBAUTHN_RP_ID: 'localhost',
  AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'Example',
  AUTH_WEBAUTHN_RP_ORIGINS: ORIGIN,
  // In this mode, `POST /verify` accepts forms.
  AUTH_MAILER_LINK_MODE: 'confirm',
}
const FORM = 'application/x-www-form-urlencoded'
/** The statuses for a body that the document forbids. */
const BAD_REQUEST: ReadonlySet<number> = new Set([400, 422])
const EMAIL = 'ada@example.com'
const PASSWORD = 'correct horse battery staple'
/** PKCE methods that the service accepts, and others. */
const METHODS = ['S256', 's256', 'pLAIN', 'md5', 's256 ']
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
  user: z.looseObject({ id: z.string() }).optional(),
  totp: z.looseObject({ secret: z.string() }).optional(),
})

/** A request: the operation with the example name, the method and URL, and the body. */
interface Step {
  readonly is: string
  readonly request: string
  readonly body: object
  readonly headers?: Readonly<Record<string, string>>
}

type Call = (step: Step) => Promise<z.output<typeof Answer>>
type Headers = Readonly<Record<string, string>>
type Examples = Record<string, Record<string, { request: object; answers: Record<string, unknown> }>>

const Types = z.union([z.string(), z.array(z.string())]).optional()
const Body = z.object({
  required: z.array(z.string()).default([]),
  type: Types,
  anyOf: z.array(z.object({ type: Types })).default([]),
})
const Operation = z.object({
  operationId: z.string(),
  tags: z.array(z.string()),
  parameters: z
    .array(z.object({ name: z.string(), in: z.string(), allowEmptyValue: z.boolean().default(false) }))
    .default([]),
  requestBody: z
    .object({
      content: z.record(z.string(), z.object({ schema: Body })),
    })
    .optional(),
})

const Document = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
/** The document with all schemas inlined. */
const document = Document.parse(JSON.parse(inlineSchemas(openApi)))
const Paths = z.record(z.string(), z.record(z.string(), Operation))
const operations = Object.entries(Paths.parse(document.paths)).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
)

let test: MailApp
/** The credentials of a user in a session of aal2. */
let owner: Headers
/** An operator with the role admin. */
let desk: SignedInOperator
const examples: Examples = {}
/** The sent bodies, by operation. */
const sent: Record<string, { readonly url: string; readonly body: object }> = {}
beforeAll(async () => {
  test = await openMailApp(SETTINGS)
  const mask = createMask()
  const call: Call = async ({ is, request, body, headers = {} }) => {
    const [operationId = '', name = 'usual'] = is.split(' ')
    const [method = '', url = ''] = request.split(' ')
    const answer = await send(method, url, { headers, payload: body })
    if (answer.statusCode >= 300) throw new Error(`${request}: ${answer.statusCode} ${answer.body}`)
    const answers = { [answer.statusCode]: mask('', answer.json()) }
    examples[operationId] = { ...examples[operationId], [name]: { request: { body: mask('', body) }, answers } }
    sent[operationId] = { url, body }
    return Answer.parse(answer.json())
  }
  await useAccount(call)
  await administrate(call)
  desk = await createOperator(test, 'admin')
  await operate(call)
  await returnByForm()
})
afterAll(() => test.close())

it('writes the examples of the API document from what the service answers', async () => {
  const file = join(import.meta.dirname, '..', 'src', 'openapi-examples.json')
  await expect(`${JSON.stringify(examples, null, 2)}\n`).toMatchFileSnapshot(file)
})

it('has an example of each operation that takes a body', async () => {
  const withBody = operations.flatMap(({ operationId, requestBody }) => (requestBody ? [operationId] : []))
  expect(withBody.filter((id) => !(id in examples))).toEqual([])
})

it('reads a form where the document names its media type', async () => {
  const reads: string[] = []
  for (const { operationId, requestBody, method, path, tags } of operations) {
    if (requestBody === undefined) continue
    const headers = { ...credentials(tags), 'content-type': FORM }
    const { body } = await send(method, toUrl(path), { headers, payload: 'a=b' })
    if (!body.includes('Could not parse request body as JSON: the body is not')) reads.push(operationId)
  }
  const documented = operations.filter(({ requestBody }) => requestBody?.content[FORM] !== undefined)
  expect(reads).toEqual(documented.map(({ operationId }) => operationId))
})

it('405: names the methods of the document in Allow', async () => {
  const paths = [...new Set(operations.map(({ path }) => path))]
  const refused = errorBody(405, 'method_not_allowed', 'Method not allowed')
  for (const path of paths) {
    // A path without parameters may also match a path with a parameter.
    const matching = operations.filter((each) =>
      new RegExp(`^${each.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    )
    const methods = [...new Set(matching.map(({ method }) => method))]
    const other = ['PUT', 'PATCH'].find((method) => !methods.includes(method)) ?? ''
    const answer = await send(other, toUrl(path), {})
    const allowed = String(answer.headers.allow)
      .split(', ')
      .filter((method) => method !== 'HEAD')
    expect([path, statusAndBody(answer), allowed.sort()]).toEqual([path, [405, refused], methods.sort()])
  }
})

it('refuses a body without a member that the document needs, and one whose member is empty', async () => {
  const bad: string[] = []
  for (const { operationId, method, tags, requestBody } of operations) {
    const required = requestBody?.content['application/json']?.schema.required ?? []
    for (const member of required) {
      for (const changed of [undefined, '']) {
        const { url, body } = sent[operationId] ?? expect.fail(`${operationId} has no example`)
        const payload = { ...body, [member]: changed }
        const { statusCode } = await send(method, url, { headers: credentials(tags), payload })
        if (!BAD_REQUEST.has(statusCode)) bad.push(`${operationId} with ${member} ${changed}: ${statusCode}`)
      }
    }
  }
  expect(bad).toEqual([])
})

it('takes null for a body where the document does', async () => {
  const bad: string[] = []
  for (const { operationId, method, path, tags, requestBody } of operations) {
    const { schema } = requestBody?.content['application/json'] ?? {}
    if (schema === undefined) continue
    const headers = { ...credentials(tags), 'content-type': 'application/json' }
    const { statusCode } = await send(method, toUrl(path), { headers, payload: 'null' })
    // If the document allows null, the body may be empty. The request may still fail because of the path or the state.
    if (takesNull(schema) ? statusCode === 400 : !BAD_REQUEST.has(statusCode)) bad.push(`${operationId}: ${statusCode}`)
  }
  expect(bad).toEqual([])
})

it('takes the methods of PKCE that the document names, in any case', async () => {
  const taken: unknown[] = []
  const documented: unknown[] = []
  for (const { operationId, method, path, tags } of operations) {
    const patterns = methodPatterns(path, method)
    if (patterns.length === 0) continue
    for (const name of METHODS) {
      const pkce = { code_challenge: 'c'.repeat(43), code_challenge_method: name }
      const { url, body } = sent[operationId] ?? { url: `${path}?${new URLSearchParams(pkce)}`, body: undefined }
      const payload = body && { payload: { ...body, ...pkce } }
      const answer = await send(method, url, { headers: credentials(tags), ...payload })
      taken.push([operationId, name, !answer.body.includes('unsupported code_challenge_method')])
      documented.push([operationId, name, patterns.every((each) => each.test(name))])
    }
  }
  expect([taken.length, taken]).toEqual([8 * METHODS.length, documented])
})

it('takes an empty parameter where the document says that it may be empty', async () => {
  for (const { method, path, tags, parameters } of operations) {
    const inQuery = parameters.filter((each) => each.in === 'query')
    const optional = inQuery.filter(({ allowEmptyValue }) => allowEmptyValue).map(({ name }) => `${name}=`)
    if (method !== 'GET' || optional.length === 0 || inQuery.length !== optional.length) continue
    const headers = credentials(tags)
    const [without, empty] = [
      await send(method, toUrl(path), { headers }),
      await send(method, `${toUrl(path)}?${optional.join('&')}`, { headers }),
    ]
    expect([path, empty.statusCode]).toEqual([path, without.statusCode])
  }
})

const Described = z.object({ pattern: z.string() })
const MethodParameter = z.object({ name: z.literal('code_challenge_method'), schema: Described })

/** Returns the patterns of the document for `code_challenge_method` in the query or body of an operation. */
function methodPatterns(path: string, method: string): readonly RegExp[] {
  const item = Object.entries(document.paths).find(([name]) => name === path)?.[1] ?? {}
  const [, operation] = Object.entries(item).find(([name]) => name.toUpperCase() === method) ?? []
  const found: string[] = []
  JSON.parse(JSON.stringify(operation), (key, value: unknown) => {
    const member = key === 'code_challenge_method' ? Described.safeParse(value).data : undefined
    const described = member ?? MethodParameter.safeParse(value).data?.schema
    if (described) found.push(described.pattern)
    return value
  })
  return found.map((pattern) => new RegExp(pattern))
}

function takesNull({ type, anyOf }: z.output<typeof Body>): boolean {
  return [{ type }, ...anyOf].some((each) => [each.type].flat().includes('null'))
}

interface Sent {
  readonly headers?: Headers
  readonly payload?: object | string
}

function send(method: string, url: string, { headers = {}, payload }: Sent) {
  const verb = z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).parse(method)
  return test.app.inject({ method: verb, url, headers, ...(payload !== undefined && { payload }) })
}

/** A URL of a path, with an unknown id. */
function toUrl(path: string): string {
  return path.replaceAll(/\{\w+\}/g, OTHER_ID)
}

function credentials(tags: readonly string[]): Headers {
  if (tags.includes('Operators')) return { ...desk.credentials, 'idempotency-key': randomUUID() }
  return tags.includes('Admin') ? OPERATOR : owner
}

/** Sends requests of a user about the user's own account. */
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
  await usePasskeys(call)
}

async function useFactors(call: Call, headers: Headers): Promise<void> {
  const body = { factor_type: 'totp', friendly_name: 'Phone' }
  const { id, totp } = await call({ is: 'enrolFactor', request: 'POST /factors', body, headers })
  const asked = await call({ is: 'challengeFactor', request: `POST /factors/${id}/challenge`, body: {}, headers })
  const code = totpCode(totp?.secret ?? '', test.clock.now())
  const answer = { challenge_id: asked.id, code }
  const steppedUp = await call({ is: 'verifyFactor', request: `POST /factors/${id}/verify`, body: answer, headers })
  owner = { authorization: `Bearer ${steppedUp.access_token}` }
  const codes = '/factors/recovery-codes'
  // Factors are ordered by age.
  test.clock.advance(1)
  const made = await call({ is: 'createRecoveryCodes', request: `POST ${codes}`, body: {}, headers: owner })
  await call({
    is: 'verifyRecoveryCode',
    request: `POST ${codes}/verify`,
    body: { code: made.codes[0] },
    headers: owner,
  })
}

const Question = z.object({
  challenge_id: z.string(),
  options: z.object({
    challenge: z.string(),
    rp: z.object({ id: z.string() }).default({ id: 'localhost' }),
    user: z.object({ id: z.string() }).default({ id: '' }),
  }),
})

/** Registers a passkey, renames it, and signs in with it. */
async function usePasskeys(call: Call): Promise<void> {
  const key = createAuthenticator(ORIGIN)
  const ask = async (url: string) => Question.parse((await test.post(url, {}, owner)).json())
  const asked = await ask('/passkeys/registration/options')
  const { id } = await call({
    is: 'finishPasskeyRegistration',
    request: 'POST /passkeys/registration/verify',
    body: { challenge_id: asked.challenge_id, credential: key.create(asked.options) },
    headers: owner,
  })
  const body = { friendly_name: 'Phone' }
  await call({ is: 'updatePasskey', request: `PATCH /passkeys/${id}`, body, headers: owner })
  const again = await ask('/passkeys/authentication/options')
  const credential = key.get(again.options)
  await call({
    is: 'finishPasskeySignIn',
    request: 'POST /passkeys/authentication/verify',
    body: { challenge_id: again.challenge_id, credential },
  })
}

/** Posts the form of a return from a provider. The flow has ended, so the redirect contains an error. */
async function returnByForm(): Promise<void> {
  const body = { state: OTHER_ID, code: '4/0AfJohXn' }
  const payload = new URLSearchParams(body).toString()
  for (const [is, url] of [
    ['finishProviderSignInByForm', '/callback'],
    ['finishProviderSignInAtOwnAddressByForm', '/callback/apple'],
  ] as const) {
    const { statusCode } = await send('POST', url, { headers: { 'content-type': FORM }, payload })
    if (statusCode !== 303) throw new Error(`POST ${url}: ${statusCode}`)
    examples[is] = { usual: { request: { mediaType: FORM, body }, answers: {} } }
  }
}

async function administrate(call: Call): Promise<void> {
  const as = (step: Step) => call({ ...step, headers: OPERATOR })
  const user = { email: 'grace@example.com', password: PASSWORD, email_confirm: true }
  const { id } = await as({ is: 'createUser', request: 'POST /admin/users', body: user })
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

async function operate(call: Call): Promise<void> {
  const as = (step: Omit<Step, 'headers'>) => call({ ...step, headers: credentials(['Operators']) })
  const users = '/operator/users'
  const made = { email: 'barbara@example.com', password: PASSWORD }
  const { user } = await as({ is: 'createUserAsOperator', request: `POST ${users}`, body: made })
  const at = `${users}/${user?.id}`
  await as({ is: 'confirmUser', request: `POST ${at}/confirmation`, body: { kind: 'email' } })
  await as({ is: 'generateSignInLink', request: `POST ${at}/sign-in-link`, body: { reason: 'Ticket 4711' } })
  await as({ is: 'updateUserAsOperator', request: `PUT ${at}`, body: { email: 'liskov@example.com' } })
  await as({ is: 'secureUser', request: `POST ${at}/secure`, body: { since: '2026-01-01T08:30:00Z' } })
  await as({ is: 'banUser', request: `PUT ${at}/ban`, body: { duration: '24h' } })
  await as({ is: 'assignConsoleRole', request: `PUT ${at}/console-role`, body: { role: 'viewer' } })
  const invited = { email: 'donald@example.com', user_metadata: { name: 'Donald' } }
  await as({ is: 'inviteUserAsOperator', request: `POST ${users}/invitations`, body: invited })
  const key = { algorithm: 'EdDSA', kid: 'spring' }
  await as({ is: 'addSigningKey', request: 'POST /operator/keys', body: key })
}

/** 32 bytes as base64url, the format of a credential id. */
const CREDENTIAL_ID = 'QSBrZXkgdGhhdCBhbiBhdXRoZW50aWNhdG9yIGhvbGQ'

/** Values that differ in each run, by member name. */
const MASKED: Readonly<Record<string, unknown>> = {
  access_token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIwMDAwMDAwMSJ9.c2lnbmF0dXJl',
  refresh_token: 'pZ3vC0bTq8yKfWn1sLx6RdAe',
  hashed_token: '4ee1b1f3b4c24f3c8d1d4f6b1f0d7a2b9e8c7d6f5a4b3c2d1e0f9a8b',
  token: '4ee1b1f3b4c24f3c8d1d4f6b1f0d7a2b9e8c7d6f5a4b3c2d1e0f9a8b',
  token_hash: '4ee1b1f3b4c24f3c8d1d4f6b1f0d7a2b9e8c7d6f5a4b3c2d1e0f9a8b',
  action_link: 'http://localhost:8081/verify?token=4ee1b1f3b4c24f3c&type=magiclink&redirect_to=http://localhost:3000',
  link: 'http://localhost:8081/verify?token=4ee1b1f3b4c24f3c&type=magiclink&redirect_to=http://localhost:3000',
  email_otp: '123456',
  code: '123456',
  codes: ['ABCD-EFGH-IJKL', 'MNOP-QRST-UVWX'],
  secret: 'JBSWY3DPEHPK3PXP',
  qr_code: 'data:image/svg+xml;utf-8,…',
  uri: 'otpauth://totp/localhost:3000:ada@example.com?secret=JBSWY3DPEHPK3PXP&issuer=localhost:3000',
  expires_at: 1_767_326_645,
  rawId: CREDENTIAL_ID,
  clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoiWTJoaGJHeGxibWRsIn0',
  attestationObject: 'o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YVikSZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2M',
  authenticatorData: 'SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAQ',
  signature: 'MEUCIQDTGVxhrQxYJ6Z3M0kP5mQ9q2n5l0M3yYQ1uJ9n3hZ4wQIgY2lIb3Vyc2VsZl9zaWduYXR1cmU',
  userHandle: 'YWRh',
}

/** Replaces values that differ in each run: tokens, times, and ids in their order of appearance. */
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
    if (/^[\w-]{43}$/.test(value)) return CREDENTIAL_ID
    if (/^\d{4}-\d\d-\d\dT/.test(value)) return '2026-01-02T03:04:05.123456+00:00'
    return value.replaceAll(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, maskId)
  }
  return mask
}
