import { createSignedUp } from '../signed-up.ts'
import type { BehaviourCases } from './behaviour-case.ts'

const PASSWORD = 'correct horse battery staple'

/** Sign-ups, and above all those with a taken address. */
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
  duplicateIsTold: {
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
  repeatedSignUpIsTold: {
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
} as const satisfies BehaviourCases
