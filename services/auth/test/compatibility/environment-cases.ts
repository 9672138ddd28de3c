import { createSignedUp } from '../signed-up.ts'
import type { OptionCases } from './option-case.ts'

/** Cases about gateways in front of the service. */
export const environmentCases = {
  trustedPeer: {
    observe: async (service) => {
      const { email, password } = await createSignedUp(service.deps)
      const headers = { 'x-forwarded-for': '192.0.2.1, 198.51.100.7' }
      const answer = await service.post('/token?grant_type=password', { email, password }, headers)
      const claims = JSON.parse(Buffer.from(answer.json().access_token.split('.')[1], 'base64url').toString())
      const { ip } = await service.deps.db
        .selectFrom('sessions')
        .select('ip')
        .where('id', '=', claims.session_id)
        .executeTakeFirstOrThrow()
      return ip
    },
    compatible: '127.0.0.1',
    supabase: '198.51.100.7',
  },
} as const satisfies OptionCases
