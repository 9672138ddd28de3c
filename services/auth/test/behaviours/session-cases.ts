import { createSignedIn } from '../signed-in.ts'
import type { BehaviourCases } from './behaviour-case.ts'

/** Sessions, their tokens, and the calls that need them. */
export const sessionCases = {
  SESSIONS_ENFORCE_ON_ACCESS_TOKEN: {
    observe: async (service) => {
      const { headers } = await createSignedIn(service)
      const call = async (method: 'GET' | 'POST', url: string) => {
        const { statusCode, body } = await service.app.inject({ method, url, headers })
        return [statusCode, body === '' ? '' : JSON.parse(body).error_code]
      }
      const first = await call('POST', '/logout')
      return [first, await call('GET', '/user'), await call('POST', '/logout')]
    },
    compatible: [
      [204, ''],
      [200, undefined],
      [204, ''],
    ],
    supabase: [
      [204, ''],
      [403, 'session_not_found'],
      [403, 'session_not_found'],
    ],
  },
} as const satisfies BehaviourCases
