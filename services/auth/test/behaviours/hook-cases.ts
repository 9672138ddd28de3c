import { afterAll, expect } from 'vitest'
import { anyId } from '../bodies.ts'
import { NOTHING, startHookStub } from '../hook-stub.ts'
import { createSignedUp } from '../signed-up.ts'
import type { BehaviourCases } from './behaviour-case.ts'

const stub = await startHookStub()
afterAll(() => stub.close())
const settings = stub.settings('PASSWORD_VERIFICATION_ATTEMPT', 'BEFORE_USER_CREATED')

/** What servers of operators are sent, and what their answers do. */
export const hookCases = {
  hookRefusalCode: {
    settings,
    observe: async (service) => {
      stub.answer = () => ({ body: { error: { http_code: 403, message: 'Not from here' } } })
      const answer = await service.post('/signup', {
        email: 'refused-by-a-hook@example.com',
        password: 'correct horse',
      })
      stub.answer = () => NOTHING
      const { error_code: code, msg: text } = answer.json()
      return [answer.statusCode, code, text]
    },
    compatible: [403, 'hook_rejected', 'Not from here'],
    supabase: [403, 'unknown', 'Not from here'],
  },
  hooksHaveMetadata: {
    settings: { ...settings, AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true' },
    observe: async (service) => {
      const { email, password } = await createSignedUp(service.deps)
      stub.answer = () => ({ body: { decision: 'continue' } })
      await service.post('/token?grant_type=password', { email, password }, { 'auth-forwarded-for': '203.0.113.7' })
      stub.answer = () => NOTHING
      return stub.callsOf('PASSWORD_VERIFICATION_ATTEMPT').at(-1)?.payload.metadata
    },
    compatible: undefined,
    supabase: { uuid: anyId, time: expect.any(String), name: 'password-verification', ip_address: '203.0.113.7' },
  },
  silentHookConsents: {
    settings,
    observe: async (service) => {
      const { email, password } = await createSignedUp(service.deps)
      const signIn = async (given: string) => {
        const answer = await service.post('/token?grant_type=password', { email, password: given })
        return [answer.statusCode, answer.json().error_code]
      }
      return [await signIn(password), await signIn('another password')]
    },
    compatible: [
      [500, 'unexpected_failure'],
      [500, 'unexpected_failure'],
    ],
    supabase: [
      [200, undefined],
      [400, 'invalid_credentials'],
    ],
  },
} as const satisfies BehaviourCases
