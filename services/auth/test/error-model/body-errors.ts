import { randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { OPERATOR } from '../forged-token.ts'
import { createSignedUp } from '../signed-up.ts'
import { type ErrorCase, type ErrorCases, get, post } from './error-case.ts'
import { ask } from './factor-errors.ts'
import { refused } from './request-errors.ts'
import { FEATURES } from './settings.ts'
import { under } from './sign-in-errors.ts'

const JSON_REASON = 'Could not parse request body as JSON: '
const email = 'a@example.com'
const phone = '14155550100'
const password = 'correct horse'
const HASH = `$2b$10$${'x'.repeat(53)}`

const byAdmin = (request: InjectOptions, rest: Omit<ErrorCase, 'raise'> = {}): ErrorCase =>
  refused({ ...request, headers: OPERATOR }, rest)
const signUp = (body: object): InjectOptions => post('/signup', { password, ...body })
const createUser = (body: object): InjectOptions => post('/admin/users', body)
const invalidGrant = { oauth: 'invalid_request' }
const token = (grant: string, body: object): InjectOptions => post(`/token?grant_type=${grant}`, body)
const pkce = (codeChallenge: string, method = 's256'): InjectOptions =>
  signUp({ email, code_challenge: codeChallenge, code_challenge_method: method })
const form = (payload: string, suffix = ''): InjectOptions =>
  post('/token?grant_type=password', payload, { 'content-type': `application/x-www-form-urlencoded${suffix}` })

/** Errors of malformed requests. */
export const bodyErrors: ErrorCases = {
  malformedRequest: [
    refused(get('/verify?type=signup&token=%E9')),
    refused(get('/%zz')),
    refused(get(`/${'x'.repeat(8_192)}`)),
  ],
  unsupportedContentType: [refused(form('a=b', '/broken'), invalidGrant)],
  requestTooLarge: [
    refused(post('/signup', `{"a":"${'x'.repeat(262_144)}"}`), { text: 'Request body too large (max 262144 bytes)' }),
  ],
  unstorableText: [refused(get('/verify?type=a%00&token=x'))],
  fieldInvalid: [
    under(FEATURES, post('/admin/custom-providers', { name: 5 }, OPERATOR), {
      text: 'name: must be a string',
    }),
  ],
  bodyEmpty: [refused(post('/signup', '')), refused(post('/token?grant_type=password', ''), invalidGrant)],
  bodyNotUtf8: [
    refused({
      method: 'POST',
      url: '/signup',
      payload: Buffer.from([0xff]),
      headers: { 'content-type': 'application/json' },
    }),
  ],
  bodyNotJson: [refused(post('/signup', '=%00'))],
  bodyNotJsonFrom: [
    refused(post('/signup', '{x'), { text: `${JSON_REASON}the body is not JSON from character 2 on` }),
    refused(post('/token?grant_type=password', '{x'), {
      text: `${JSON_REASON}the body is not JSON from character 2 on`,
      ...invalidGrant,
    }),
  ],
  bodyNotObject: [refused(post('/signup', '[]'))],
  bodyTooDeep: [
    refused(post('/signup', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`), {
      text: `${JSON_REASON}nesting deeper than 64 levels`,
    }),
  ],
  tooManyMembers: [
    refused(post('/recover', `{"a":[${'1,'.repeat(500)}1]}`), { text: `${JSON_REASON}more than 500 members` }),
  ],
  tooManyFields: [
    refused(post('/recover', JSON.stringify(Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`f${i}`, 1])))), {
      text: `${JSON_REASON}more than 100 fields`,
    }),
  ],
  bodyFieldInvalid: [
    refused(post('/signup', { email: 5 }), {
      text: `${JSON_REASON}email: must be a string`,
    }),
  ],
  formNotUtf8: [refused(form('a=\uFFFD'), invalidGrant), refused(form('password=caf%E9'), invalidGrant)],
  tooManyFormFields: [
    refused(form('a&'.repeat(100)), {
      text: 'Could not parse request body as a form: more than 100 fields',
      ...invalidGrant,
    }),
  ],
  formFieldRepeated: [refused(form('password=a&password=b'), invalidGrant)],
  malformedId: [byAdmin(get('/admin/users/me'), { text: 'user_id must be an UUID' })],
  newUserIdMalformed: [byAdmin(post('/admin/users/me', { email }))],
  newUserIdNil: [byAdmin(post('/admin/users/00000000-0000-0000-0000-000000000000', { email }))],
  newUserIdOther: [byAdmin(post(`/admin/users/${randomUUID()}`, { email, id: randomUUID() }))],
  pageOutOfRange: [
    byAdmin(get('/admin/users?per_page=1001'), {
      text: 'Bad Pagination Parameters: per_page must be an integer between 1 and 1000',
    }),
    byAdmin(get('/admin/audit?page=0'), {
      text: 'Bad Pagination Parameters: page must be an integer between 1 and 1000000000',
    }),
  ],
  cursorMalformed: [byAdmin(get('/admin/users?cursor=x'))],
  sortMalformed: [byAdmin(get('/admin/users?sort=email'), { text: 'Bad Sort Parameters: "email"' })],
  auditQueryMalformed: [byAdmin(get('/admin/audit?query=x:y'), { text: 'Invalid query scope: x:y' })],
}

export const memberErrors: ErrorCases = {
  emailMissing: [byAdmin(post('/invite', {}))],
  emailTooLong: [refused(signUp({ email: `${'x'.repeat(250)}@example.com` }))],
  emailMalformed: [refused(signUp({ email: 'nobody' }))],
  badEmailAtVerify: [refused(post('/verify', { type: 'signup', email: 'nobody', token: '123456' }))],
  phoneMalformed: [refused(signUp({ phone: '0' }))],
  twoAddressesAtSignUp: [refused(signUp({ email, phone }))],
  twoAddressesAtSignIn: [refused(token('password', { email, phone, password }), invalidGrant)],
  twoAddressesAtOtp: [refused(post('/otp', { email, phone }))],
  twoAddressesAtResend: [refused(post('/resend', { type: 'signup', email, phone }))],
  twoAddressesAtVerify: [refused(post('/verify', { type: 'signup', email, phone, token: 'x' }))],
  addressMissingAtSignIn: [refused(token('password', { password }), invalidGrant)],
  addressMissingAtOtp: [refused(post('/otp', {}))],
  addressMissingAtResend: [refused(post('/resend', { type: 'email_change' }))],
  addressMissingAtRecover: [refused(post('/recover', {}))],
  addressMissingAtReauthentication: [
    ask(async ({ user, headers }, { deps }) => {
      await deps.db.updateTable('users').set({ email: null, phone: null }).where('id', '=', user.id).execute()
      return get('/reauthenticate', headers)
    }),
  ],
  addressMissingForUser: [byAdmin(createUser({}))],
  magicLinkWithoutEmail: [refused(post('/magiclink', {}))],
  channelWithEmail: [refused(post('/otp', { email, channel: 'sms' }))],
  channelUnsupported: [refused(post('/otp', { phone, channel: 'pigeon' }))],
  pkceAtPhoneSignUp: [refused(signUp({ phone, code_challenge: 'c'.repeat(43), code_challenge_method: 's256' }))],
  pkceIncomplete: [
    refused(signUp({ email, code_challenge: 'c'.repeat(43) })),
    refused(get('/authorize?provider=github&code_challenge=x')),
  ],
  codeChallengeLength: [
    refused(pkce('c'.repeat(42)), { text: 'code challenge has to be between 43 and 128 characters' }),
    refused(pkce('c'.repeat(129)), { text: 'code challenge has to be between 43 and 128 characters' }),
  ],
  codeChallengeCharacters: [refused(pkce('!'.repeat(43)))],
  codeChallengeMethodUnsupported: [
    refused(pkce('c'.repeat(43), 's512'), { text: 'unsupported code_challenge_method "s512"' }),
  ],
  authCodeMissing: [refused(token('pkce', {}), invalidGrant)],
  refreshTokenMalformed: [refused(token('refresh_token', { refresh_token: 'x' }), invalidGrant)],
  logoutScopeUnsupported: [
    ask(({ headers }) => post('/logout?scope=all', {}, headers), { text: 'Unsupported logout scope "all"' }),
  ],
  verifyTypeMissing: [refused(post('/verify', { token: 'x' })), refused(get('/verify?token=x'))],
  verifyTypeUnsupported: [refused(post('/verify', { type: 'x', email, token: 'x' }))],
  mailTypeUnsupported: [refused(post('/verify', { type: 'sms', token_hash: 'x' }))],
  verifyTokenMissing: [refused(get('/verify?type=signup'))],
  verifyTokenUnclear: [
    refused(post('/verify', { type: 'signup' })),
    refused(post('/verify', { type: 'signup', token: 'x', token_hash: 'x' })),
  ],
  tokenHashNotAlone: [refused(post('/verify', { type: 'signup', email, token_hash: 'x' }))],
  resendTypeUnsupported: [
    refused(post('/resend', { email }), {
      text: 'Missing one of these types: signup, email_change, sms, phone_change',
    }),
  ],
  resendEmailMissing: [refused(post('/resend', { type: 'signup', phone }))],
  resendPhoneMissing: [refused(post('/resend', { type: 'sms', email }))],
  linkTypeUnsupported: [
    byAdmin(post('/admin/generate_link', { type: 'x', email }), {
      text: 'Invalid email action link type requested: x',
    }),
  ],
  audienceUnknown: [refused(post('/signup', { email, password }, { 'x-jwt-aud': 'elsewhere' }))],
  audienceTooLong: [
    byAdmin(createUser({ email, aud: 'x'.repeat(256) }), { text: 'An audience may not be longer than 255 characters' }),
  ],
  roleTooLong: [
    byAdmin(createUser({ email, role: 'x'.repeat(256) }), { text: 'A role may not be longer than 255 characters' }),
  ],
  metadataTooLarge: [
    refused(signUp({ email, data: { a: 'x'.repeat(65_536) } }), {
      text: 'user_metadata and app_metadata together may not be larger than 8192 bytes, because access tokens hold them',
    }),
  ],
  banDurationMalformed: [
    byAdmin(createUser({ email, ban_duration: '1 week' }), {
      text: 'invalid format for ban duration: time: invalid duration "1 week"',
    }),
  ],
  passwordMissingAtSignUp: [refused(post('/signup', { email }))],
  passwordMissingAtVerify: [
    {
      raise: async (world, send) => {
        const service = await world.service()
        const address = `${randomUUID()}@example.com`
        await service.post('/signup', { email: address, password })
        await service.deps.db
          .updateTable('users')
          .set({ encrypted_password: null })
          .where('email', '=', address)
          .execute()
        const { token } = await service.readMail(address)
        return send(service, post('/verify', { type: 'signup', token_hash: token }))
      },
    },
  ],
  passwordTooLong: [refused(signUp({ email, password: 'x'.repeat(73) }))],
  passwordWithHash: [byAdmin(createUser({ email, password, password_hash: HASH }))],
  passwordHashUnsupported: [byAdmin(createUser({ email, password_hash: 'md5' }))],
  passwordHashTooLong: [
    byAdmin(createUser({ email, password_hash: 'x'.repeat(1_000) }), {
      text: 'password_hash may not be longer than 255 characters',
    }),
  ],
  passwordHashAtUpdate: [
    {
      raise: async (world, send) => {
        const service = await world.service()
        const { user } = await createSignedUp(service.deps)
        const url = `/admin/users/${user.id}`
        return send(service, { method: 'PUT', url, payload: { password_hash: HASH }, headers: OPERATOR })
      },
    },
  ],
}
