import { claimsOf } from '../authenticator-app.ts'
import { OPERATOR } from '../forged-token.ts'
import { createSignedUp } from '../signed-up.ts'
import type { OptionCases } from './option-case.ts'

const PASSWORD = 'correct horse battery staple'

/** Cases about sign-ups, mainly with a taken address. */
export const signUpCases = {
  confirmedDuplicateStatus: {
    settings: { AUTH_MAILER_AUTOCONFIRM: 'true' },
    observe: async (service) => {
      const { email } = await createSignedUp(service.deps)
      const answer = await service.post('/signup', { email, password: PASSWORD })
      return [answer.statusCode, answer.json().error_code]
    },
    compatible: [400, 'user_already_exists'],
    supabase: [422, 'user_already_exists'],
  },
  revealTakenAddress: {
    observe: async (service) => {
      const { email } = await createSignedUp(service.deps)
      const duplicate = async (data: object) => {
        const answer = await service.post('/signup', { email, password: PASSWORD, data })
        const { role, identities, user_metadata: metadata } = answer.json()
        return [answer.statusCode, role, identities.length, metadata.name]
      }
      return [await duplicate({ name: 'Ben' }), await duplicate({ name: 'Eve' })]
    },
    compatible: [
      [200, 'authenticated', 1, 'Ben'],
      [200, 'authenticated', 1, 'Eve'],
    ],
    supabase: [
      [200, '', 0, 'Ben'],
      [200, '', 0, 'Eve'],
    ],
  },
  revealRepeatedSignUp: {
    observe: async (service) => {
      const email = 'repeated@example.com'
      const signUp = async (name: string) => {
        const { statusCode, body } = await service.post('/signup', { email, password: PASSWORD, data: { name } })
        const { error_code: code, user_metadata: metadata, id } = JSON.parse(body)
        return { id, seen: [statusCode, code ?? metadata.name] }
      }
      const first = await signUp('Ann')
      const second = await signUp('Ben')
      service.clock.advance(900_000)
      const third = await signUp('Eve')
      return [first.seen, second.seen, third.seen, third.id === first.id]
    },
    compatible: [[200, 'Ann'], [200, 'Ben'], [200, 'Eve'], false],
    supabase: [[200, 'Ann'], [429, 'over_email_send_rate_limit'], [200, 'Ann'], true],
  },
  copyAddressToUserMetadata: {
    observe: async (service) => {
      const email = 'metadata@example.com'
      const data = { name: 'Ann', sub: 'mine', email: 'somebody@example.com' }
      const { id, user_metadata: fresh } = (await service.post('/signup', { email, password: PASSWORD, data })).json()
      const { code } = await service.readMail(email)
      const { user, ...session } = (await service.post('/verify', { type: 'signup', email, token: code })).json()
      const made = { phone: '14155550177', email: 'made@example.com', password: PASSWORD }
      const [byAdmin, later] = [
        await service.post('/admin/users', { ...made, email_confirm: true, user_metadata: { a: 1 } }, OPERATOR),
        await service.post('/admin/users', { ...made, phone: '14155550178', email: 'later@example.com' }, OPERATOR),
      ]
      const url = `/admin/users/${later.json().id}`
      const confirmed = await service.app.inject({
        method: 'PUT',
        url,
        payload: { email_confirm: true },
        headers: OPERATOR,
      })
      const phone = await service.post('/signup', { phone: '14155550179', password: PASSWORD, data: { a: 1 } })
      const named = (metadata: unknown) => JSON.parse(JSON.stringify(metadata).replaceAll(id, 'id'))
      return {
        fresh: named(fresh),
        confirmed: named(user.user_metadata),
        claims: named(claimsOf(session.access_token).user_metadata),
        admin: byAdmin.json().user_metadata,
        later: [later.json().user_metadata, confirmed.json().user_metadata],
        phone: Object.keys(phone.json().user_metadata),
      }
    },
    compatible: {
      fresh: { name: 'Ann', sub: 'mine', email: 'somebody@example.com' },
      confirmed: { name: 'Ann', sub: 'mine', email: 'somebody@example.com' },
      claims: { name: 'Ann', sub: 'mine', email: 'somebody@example.com' },
      admin: { a: 1 },
      later: [{}, {}],
      phone: ['a'],
    },
    supabase: {
      fresh: { name: 'Ann', sub: 'id', email: 'metadata@example.com', email_verified: false, phone_verified: false },
      confirmed: { name: 'Ann', sub: 'id', email: 'metadata@example.com', email_verified: true, phone_verified: false },
      claims: { name: 'Ann', sub: 'id', email: 'metadata@example.com', email_verified: true, phone_verified: false },
      admin: { a: 1, email_verified: true },
      later: [{}, { email_verified: true }],
      phone: ['a', 'sub', 'email_verified', 'phone_verified'],
    },
  },
  confirmerOwnsAnonymousAccount: {
    settings: { AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true', AUTH_MAILER_AUTOCONFIRM: 'false' },
    observe: async (service) => {
      const { access_token, refresh_token } = (await service.post('/signup', {})).json()
      const email = `anonymous-${service.deps.config.passwords.algorithm}@example.com`
      const headers = { authorization: `Bearer ${access_token}` }
      const payload = { email, password: PASSWORD }
      await service.app.inject({ method: 'PUT', url: '/user', headers, payload })
      const { token } = await service.readMail(email)
      const confirmed = await service.post('/verify', { type: 'email_change', token_hash: token })
      const refreshed = await service.post('/token?grant_type=refresh_token', { refresh_token })
      const signedIn = await service.post('/token?grant_type=password', payload)
      return [confirmed.statusCode, refreshed.json().error_code ?? 200, signedIn.json().error_code ?? 200]
    },
    compatible: [200, 'refresh_token_not_found', 'invalid_credentials'],
    supabase: [200, 200, 200],
  },
} as const satisfies OptionCases
