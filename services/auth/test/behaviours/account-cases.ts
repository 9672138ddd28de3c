import type { MailApp } from '../mail-app.ts'
import { createSignedUp } from '../signed-up.ts'
import type { BehaviourCases } from './behaviour-case.ts'

const PASSWORD = 'correct horse battery staple'
/** Of this password, as `crypt()` makes it. */
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

/** Accounts and their passwords. */
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
  passwordHashesStay: {
    settings: { AUTH_PASSWORD_HASH: 'argon2id' },
    observe: async (service) => {
      const { email } = await createSignedUp(service.deps, { encrypted_password: BCRYPT })
      const [status] = await signIn(service, { email, password: PASSWORD })
      return [status, (await hashOf(service, email)).slice(0, 7)]
    },
    compatible: [200, '$argon2'],
    supabase: [200, '$2a$10$'],
  },
} as const satisfies BehaviourCases
