import { expect } from 'vitest'
import { VERSION } from '../../src/version.ts'
import { OPERATOR } from '../forged-token.ts'
import type { BehaviourCases } from './behaviour-case.ts'

/** What admins and operators see. */
export const operatorCases = {
  healthName: {
    observe: async ({ app }) => (await app.inject('/health')).json(),
    compatible: {
      version: VERSION,
      name: 'Auth',
      description: 'Auth is a user registration and authentication API',
    },
    supabase: {
      version: expect.stringMatching(/^v2\.\d+\.\d+$/),
      name: 'GoTrue',
      description: 'GoTrue is a user registration and authentication API',
    },
  },
  MAILER_INVITE_ON_ADMIN_CREATE: {
    observe: async (service) => {
      const payload = { email: 'made-by-an-admin@example.com', password: 'correct horse' }
      const user = (await service.post('/admin/users', payload, OPERATOR)).json()
      await service.idle()
      return ['invited_at' in user, 'confirmation_sent_at' in user, service.recipients().includes(payload.email)]
    },
    compatible: [true, true, true],
    supabase: [false, false, false],
  },
} as const satisfies BehaviourCases
