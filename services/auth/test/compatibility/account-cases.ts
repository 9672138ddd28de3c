import { claimsOf } from '../authenticator-app.ts'
import { OPERATOR } from '../forged-token.ts'
import type { MailApp } from '../mail-app.ts'
import { createSignedIn } from '../signed-in.ts'
import { createSignedUp } from '../signed-up.ts'
import type { OptionCases } from './option-case.ts'

const PASSWORD = 'correct horse battery staple'
/** The password hash that `crypt()` creates. */
const BCRYPT = '$2a$10$EptlSh9AgR5gnMmddYCETO7nmF1JbNUx03dkYv/.RVu87PUAAFB4.'

async function hashOf({ deps }: MailApp, email: string): Promise<string> {
  const row = await deps.db
    .selectFrom('users')
    .select('encrypted_password')
    .where('email', '=', email)
    .executeTakeFirst()
  return row?.encrypted_password ?? ''
}

const signIn = async ({ post }: MailApp, payload: object) => {
  const answer = await post('/token?grant_type=password', payload)
  return [answer.statusCode, answer.json().error_code]
}

export const accountCases = {
  PASSWORD_HASH: {
    settings: { AUTH_MAILER_AUTOCONFIRM: 'true' },
    observe: async (service) => {
      const email = `hashed-${service.deps.config.passwords.algorithm}@example.com`
      await service.post('/signup', { email, password: PASSWORD })
      const hash = await hashOf(service, email)
      return [hash.slice(0, 7), (await signIn(service, { email, password: PASSWORD }))[0]]
    },
    compatible: ['$argon2', 200],
    supabase: ['$2a$10$', 200],
  },
  keepOutdatedHashes: {
    settings: { AUTH_PASSWORD_HASH: 'argon2id' },
    observe: async (service) => {
      const { email } = await createSignedUp(service.deps, { encrypted_password: BCRYPT })
      const [status] = await signIn(service, { email, password: PASSWORD })
      return [status, (await hashOf(service, email)).slice(0, 7)]
    },
    compatible: [200, '$argon2'],
    supabase: [200, '$2a$10$'],
  },
  showBanBeforePassword: {
    observe: async (service) => {
      const { email, password } = await createSignedUp(service.deps, { banned_until: '2999-01-01' })
      const wrong = { email, password: 'a wrong password' }
      return [await signIn(service, wrong), await signIn(service, { email, password })]
    },
    compatible: [
      [400, 'invalid_credentials'],
      [400, 'user_banned'],
    ],
    supabase: [
      [400, 'user_banned'],
      [400, 'user_banned'],
    ],
  },
  parsePhones: {
    settings: { AUTH_SMS_AUTOCONFIRM: 'true', AUTH_EXTERNAL_PHONE_ENABLED: 'true' },
    observe: async ({ post }) => {
      const typed = await post('/signup', { phone: '+44 0 7418 084106', password: PASSWORD })
      const impossible = await post('/signup', { phone: '+49 15', password: PASSWORD })
      return [typed.json().user.phone, impossible.json().error_code ?? impossible.json().user.phone]
    },
    compatible: ['447418084106', 'validation_failed'],
    supabase: ['4407418084106', '4915'],
  },
  findUserByMalformedPhone: {
    observe: (service) => signIn(service, { phone: 'no phone', password: PASSWORD }),
    compatible: [400, 'validation_failed'],
    supabase: [400, 'invalid_credentials'],
  },
  treatEmptyPasswordAsWeak: {
    observe: async (service) => {
      const { headers, user } = await createSignedIn(service)
      const change = async (url: string, by: Readonly<Record<string, string>>) => {
        const answer = await service.app.inject({ method: 'PUT', url, headers: by, payload: { password: '' } })
        return [answer.statusCode, answer.json().error_code]
      }
      return [await change('/user', headers), await change(`/admin/users/${user.id}`, OPERATOR)]
    },
    compatible: Array(2).fill([200, undefined]),
    supabase: Array(2).fill([422, 'weak_password']),
  },
  keepConfirmationOfChangedAddress: {
    observe: async (service) => {
      const change = async (since: object, payload: object) => {
        const { user } = await createSignedUp(service.deps, since)
        const url = `/admin/users/${user.id}`
        const answer = await service.app.inject({ method: 'PUT', url, headers: OPERATOR, payload })
        const { email_confirmed_at: email, phone_confirmed_at: phone } = answer.json()
        return [email !== undefined, phone !== undefined]
      }
      const phones = { phone: '14155550160', phone_confirmed_at: '2026-01-02' }
      return [
        await change(phones, { email: 'changed@example.com', phone: '14155550161' }),
        await change({ email_confirmed_at: null }, { email: 'changed2@example.com', phone: '14155550162' }),
      ]
    },
    compatible: Array(2).fill([false, false]),
    supabase: [
      [true, true],
      [false, false],
    ],
  },
  useExternalUrlAsIssuer: {
    observe: async (service) => {
      const { email, password } = await createSignedUp(service.deps)
      const answer = (await service.post('/token?grant_type=password', { email, password })).json()
      const headers = { authorization: `Bearer ${answer.access_token}` }
      const { statusCode } = await service.app.inject({ url: '/user', headers })
      return [claimsOf(answer.access_token).iss, statusCode]
    },
    compatible: ['http://localhost:8081', 200],
    supabase: [undefined, 200],
  },
} as const satisfies OptionCases
