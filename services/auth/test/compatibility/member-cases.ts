import { randomUUID } from 'node:crypto'
import { afterAll } from 'vitest'
import { z } from 'zod'
import { buildApp } from '../../src/app.ts'
import { buildSmsPayload } from '../../src/messages/mail-job.ts'
import { OPERATOR } from '../forged-token.ts'
import { type HookStub, startHookStub } from '../hook-stub.ts'
import { createSignedIn } from '../signed-in.ts'
import { createSignedUp } from '../signed-up.ts'
import type { OptionCases } from './option-case.ts'

const tokenHook = await startHookStub()
afterAll(() => tokenHook.close())
const consent: HookStub['answer'] = ({ payload }) => ({ body: { claims: payload.claims } })

const TIME = '2026-01-02T03:04:05.123456+00:00'

/** A user without the members that are `undefined`. */
const Payload = z.object({
  user: z
    .looseObject({})
    .transform((user) => Object.fromEntries(Object.entries(user).filter(([, value]) => value !== undefined))),
})
const Traits = z.object({ user_id: z.guid(), provider: z.string().optional() })
const SMS = {
  to: '14155550180',
  text: 'Your code is 123456',
  code: '123456',
  channel: 'sms',
  purpose: 'one_time_code',
} as const
const PASSWORD = 'correct horse battery staple'
const WRONG_PASSWORD = { code: 400, error_code: 'invalid_credentials', msg: 'Invalid login credentials' }

/** The last characters of a time. */
const endOf = (time: unknown): string => String(time).replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}/, '')

/** Cases about members and headers of responses. */
export const memberCases = {
  endTimesInZ: {
    observe: async (service) => {
      const user_metadata = { seen_at: TIME }
      const signedIn = await createSignedIn(service, { raw_user_meta_data: user_metadata, banned_until: '2001-02-03' })
      const get = (url: string, headers: Record<string, string> = OPERATOR) => service.app.inject({ url, headers })
      const own = (await get('/user', signedIn.headers)).json()
      const [{ created_at: listed }] = (await get('/admin/users?per_page=1')).json().users
      const streamed = (await get('/admin/users?per_page=20000')).body.match(/"updated_at":"([^"]*)"/)?.[1]
      const [{ created_at: audited }] = (await get('/admin/audit?per_page=1')).json()
      const times = [own.created_at, own.banned_until, own.identities[0].updated_at, listed, streamed, audited]
      return [...times.map(endOf), own.user_metadata.seen_at]
    },
    compatible: ['+00:00', '+00:00', '+00:00', '+00:00', 'undefined', '+00:00', TIME],
    supabase: ['Z', 'Z', 'Z', 'Z', 'Z', 'Z', TIME],
  },
  showSignInOfOwnIdentities: {
    observe: async (service) => {
      const { headers } = await createSignedIn(service)
      const [identity] = (await service.app.inject({ url: '/user', headers })).json().identities
      return 'last_sign_in_at' in identity && identity.last_sign_in_at === identity.created_at
    },
    compatible: false,
    supabase: true,
  },
  sendSessionHeaders: {
    settings: tokenHook.settings('CUSTOM_ACCESS_TOKEN'),
    observe: async (service) => {
      tokenHook.answer = consent
      const { email, password, user } = await createSignedUp(service.deps)
      const signIn = () => service.post('/token?grant_type=password', { email, password })
      const refresh = (refresh_token: unknown) => service.post('/token?grant_type=refresh_token', { refresh_token })
      const signedIn = await signIn()
      const { refresh_token: token } = signedIn.json()
      const [first, again] = [await refresh(token), await refresh(token)]
      await service.post('/magiclink', { email })
      const { link } = await service.readMail(email)
      const followed = await service.app.inject(link.pathname + link.search)
      const child = again.json().refresh_token
      tokenHook.answer = () => ({ body: { error: { http_code: 403, message: 'No' } } })
      const byHook = [await signIn(), await refresh(child)]
      tokenHook.answer = consent
      await refresh(child)
      const stolen = await refresh(token)
      await service.deps.db.updateTable('users').set({ banned_until: '2999-01-01' }).where('id', '=', user.id).execute()
      const banned = await refresh(child)
      return [signedIn, first, again, followed, ...byHook, stolen, banned].map(({ headers, statusCode, body }) => {
        const named = headers['sb-auth-user-id'] === user.id && String(headers['sb-auth-session-id'] ?? '').length
        const newToken = statusCode === 200 ? JSON.parse(body).refresh_token : undefined
        const prefix = headers['sb-auth-refresh-token-prefix']
        const isPrefix = newToken === undefined ? prefix !== undefined : newToken.slice(0, 5) === prefix
        return [statusCode, named, isPrefix, headers['sb-auth-refresh-token-reuse']]
      })
    },
    compatible: [200, 200, 200, 303, 403, 403, 400, 400].map((status) => [status, false, false, undefined]),
    supabase: [
      [200, 36, true, undefined],
      [200, 36, true, 'false'],
      [200, 36, true, undefined],
      [303, 36, true, undefined],
      [403, 36, true, undefined],
      [403, 36, false, undefined],
      [400, 36, false, undefined],
      [400, 0, false, undefined],
    ],
  },
  showOAuthErrorMembers: {
    observe: async ({ post }) => {
      const refused = async (grant: string, payload: object, headers = {}) =>
        (await post(`/token?grant_type=${grant}`, payload, headers)).json()
      const wrong = { email: 'nobody@example.com', password: 'a wrong password' }
      const versioned = { 'x-supabase-api-version': '2024-01-01' }
      return [
        await refused('password', wrong),
        await refused('id_token', {}),
        await refused('id_token', { id_token: 'x' }, versioned),
      ]
    },
    compatible: [
      { ...WRONG_PASSWORD, error: 'invalid_grant', error_description: WRONG_PASSWORD.msg },
      {
        code: 400,
        error_code: 'validation_failed',
        msg: 'id_token required',
        error: 'invalid_request',
        error_description: 'id_token required',
      },
      {
        code: 'validation_failed',
        message: 'provider or client_id and issuer required',
        error: 'invalid_request',
        error_description: 'provider or client_id and issuer required',
      },
    ],
    supabase: [
      WRONG_PASSWORD,
      { error: 'invalid request', error_description: 'id_token required' },
      { error: 'invalid request', error_description: 'provider or client_id and issuer required' },
    ],
  },
  showNullWeakPassword: {
    observe: async ({ deps, post }) => {
      const { email, password } = await createSignedUp(deps)
      const { weak_password: weak } = (await post('/token?grant_type=password', { email, password })).json()
      const other = (await post('/signup', {})).json()
      return [weak, 'weak_password' in other]
    },
    compatible: [undefined, false],
    supabase: [null, false],
  },
  showUserBesideSession: {
    settings: { AUTH_MAILER_AUTOCONFIRM: 'true' },
    observe: async ({ post }) => {
      const bodies = [{}, { email: `beside-${randomUUID()}@example.com`, password: PASSWORD }]
      return Promise.all(
        bodies.map(async (body) => {
          const { user, access_token, refresh_token, expires_in, expires_at, token_type, ...rest } = (
            await post('/signup', body)
          ).json()
          return [typeof user.id, 'id' in rest && rest.id === user.id, Object.keys(rest).length > 0]
        }),
      )
    },
    compatible: Array(2).fill(['string', true, true]),
    supabase: Array(2).fill(['string', false, false]),
  },
  showVerifiedType: {
    observe: async (service) => {
      const { email } = await createSignedUp(service.deps)
      await service.post('/otp', { email })
      const { code } = await service.readMail(email)
      const { type, user } = (await service.post('/verify', { type: 'email', email, token: code })).json()
      return [type, user.email === email]
    },
    compatible: ['magiclink', true],
    supabase: [undefined, true],
  },
  showGeneratedLinkToken: {
    observe: async (service) => {
      const { email } = await createSignedUp(service.deps)
      const link = (await service.post('/admin/generate_link', { type: 'magiclink', email }, OPERATOR)).json()
      return [link.token === link.hashed_token, link.type, link.verification_type]
    },
    compatible: [true, 'magiclink', 'magiclink'],
    supabase: [false, undefined, 'magiclink'],
  },
  showEnrolledPhoneAsSent: {
    settings: { AUTH_MFA_PHONE_ENROLL_ENABLED: 'true' },
    observe: async (service) => {
      const { headers } = await createSignedIn(service)
      const enrolled = await service.post('/factors', { factor_type: 'phone', phone: '+4520123456' }, headers)
      const own = await service.app.inject({ url: '/user', headers })
      return [enrolled.json().phone, own.json().factors[0].phone]
    },
    compatible: ['4520123456', '4520123456'],
    supabase: ['+4520123456', '4520123456'],
  },
  auditProviderOfNewUser: {
    observe: async ({ deps, post }) => {
      const created = async (fields: object) => {
        const { id } = (await post('/admin/users', fields, OPERATOR)).json()
        const query = deps.db.selectFrom('audit_log_entries').select('payload').where('target_user_id', '=', id)
        const { payload } = await query.where('action', '=', 'user_signedup').executeTakeFirstOrThrow()
        return Traits.parse(payload.traits).provider
      }
      return [await created({ email: `made-${randomUUID()}@example.com` }), await created({ phone: '14155550123' })]
    },
    compatible: [undefined, undefined],
    supabase: ['email', 'phone'],
  },
  clearSentTimesOnNewPassword: {
    observe: async (service) => {
      const change = async (url: string, asked: Record<string, string>) => {
        const payload = { password: 'another correct horse' }
        return (await service.app.inject({ method: 'PUT', url, payload, headers: asked })).json()
      }
      const sent = { confirmation_sent_at: TIME, recovery_sent_at: TIME, reauthentication_sent_at: TIME }
      const own = await createSignedIn(service, sent)
      const { user } = await createSignedUp(service.deps, sent)
      const invited = `invited-${randomUUID()}@example.com`
      await service.post('/invite', { email: invited }, OPERATOR)
      const { token } = await service.readMail(invited)
      const accepted = (await service.post('/verify', { type: 'invite', token_hash: token })).json()
      const users = [
        await change('/user', own.headers),
        await change(`/admin/users/${user.id}`, OPERATOR),
        accepted.user,
      ]
      return users.map((changed) => Object.keys(sent).filter((name) => name in changed).length)
    },
    compatible: [3, 3, 1],
    supabase: [0, 0, 0],
  },
  keepSentTimesOfChanges: {
    observe: async (service) => {
      const { headers, user } = await createSignedIn(service, {
        email_change_sent_at: TIME,
        phone_change_sent_at: TIME,
      })
      const seen = [
        (await service.app.inject({ url: '/user', headers })).json(),
        (await service.app.inject({ url: `/admin/users/${user.id}`, headers: OPERATOR })).json(),
        (await service.app.inject({ url: '/admin/users?per_page=1', headers: OPERATOR })).json().users[0],
        Payload.parse(await buildSmsPayload(service.deps, { ...SMS, userId: user.id })).user,
      ]
      return seen.map((shown) => ['email_change_sent_at' in shown, 'phone_change_sent_at' in shown])
    },
    compatible: Array(4).fill([false, false]),
    supabase: Array(4).fill([true, true]),
  },
  metadataBytesMax: {
    settings: { AUTH_MAILER_AUTOCONFIRM: 'true' },
    observe: async (service) => {
      const { headers } = await createSignedIn(service)
      const data = { text: 'x'.repeat(70_000) }
      const wanted = { email: `large-${randomUUID()}@example.com`, password: PASSWORD }
      const signedUp = await service.post('/signup', { ...wanted, data })
      const change = async (bytes: number) => {
        const payload = { data: { more: 'y'.repeat(bytes) } }
        const answer = await service.app.inject({ method: 'PUT', url: '/user', headers, payload })
        return answer.json().error_code
      }
      return [signedUp.json().error_code, await change(600_000), await change(1_048_576)]
    },
    compatible: ['validation_failed', 'request_entity_too_large', 'request_entity_too_large'],
    supabase: [undefined, undefined, 'request_entity_too_large'],
  },
  headBytesMax: {
    observe: async ({ deps }) => {
      const app = await buildApp(deps)
      const url = await app.listen({ host: '127.0.0.1', port: 0 })
      const ask = async (bytes: number) =>
        (await fetch(`${url}/health`, { headers: { apikey: 'x'.repeat(bytes) } })).status
      const statuses = [await ask(15_000), await ask(200_000), await ask(1_100_000).catch(() => 431)]
      await app.close()
      return statuses
    },
    compatible: [200, 431, 431],
    supabase: [200, 200, 431],
  },
  copyInvitationDataToIdentity: {
    observe: async ({ post }) => {
      const seen = async (url: string, fields: object) => {
        const body = { email: `guest-${randomUUID()}@example.com`, data: { a: 1 }, ...fields }
        const { user_metadata, identities } = (await post(url, body, OPERATOR)).json()
        return [user_metadata.a, identities[0].identity_data.a]
      }
      return [
        await seen('/invite', {}),
        await seen('/admin/generate_link', { type: 'invite' }),
        await seen('/admin/generate_link', { type: 'signup', password: PASSWORD }),
      ]
    },
    compatible: Array(3).fill([1, 1]),
    supabase: Array(3).fill([1, undefined]),
  },
  logAllAuthEvents: {
    observe: async ({ deps }) => {
      const actions: unknown[] = []
      const info = ({ auth_event: event }: { readonly auth_event?: { readonly action: string } }) =>
        actions.push(event?.action)
      const logger = Object.assign(Object.create(deps.logger), { info })
      const { email, password } = await createSignedUp(deps)
      const app = await buildApp({ ...deps, logger })
      const payload = { email, password }
      const signedIn = await app.inject({ method: 'POST', url: '/token?grant_type=password', payload })
      const headers = { authorization: `Bearer ${signedIn.json().access_token}` }
      await app.inject({ method: 'PUT', url: '/user', headers, payload: { data: { a: 1 } } })
      await app.close()
      return actions.filter((action) => action !== undefined)
    },
    compatible: [],
    supabase: ['login', 'user_modified'],
  },
  showUpstreamSettings: {
    observe: async ({ app }) => {
      const { external, disable_signup, mailer_autoconfirm, phone_autoconfirm, ...rest } = (
        await app.inject('/settings')
      ).json()
      const { apple, zoom, email, phone, anonymous_users } = external
      return [[apple, zoom, email, phone, anonymous_users], Object.keys(external).length, Object.keys(rest)]
    },
    compatible: [
      [false, undefined, undefined, undefined, undefined],
      18,
      [
        'autoconfirm',
        'email_enabled',
        'phone_enabled',
        'anonymous_users_enabled',
        'sms_provider',
        'saml_enabled',
        'passkeys_enabled',
      ],
    ],
    supabase: [
      [false, false, true, true, true],
      26,
      ['sms_provider', 'saml_private_key_next_configured', 'saml_enabled', 'passkeys_enabled'],
    ],
  },
} as const satisfies OptionCases
