import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { errorSchema } from '../../../error-envelope.ts'
import { passkeysDisabled } from '../../../errors.ts'

const schema = {
  summary: 'Passkeys of a user: not offered',
  response: { '4xx': errorSchema, '5xx': errorSchema },
} as const

/** `/admin/users/{user_id}/passkeys`: what clients are told where passkeys are not offered. */
export const adminPasskeysRoutes: FastifyPluginAsyncZod = async (app) => {
  const refuse = async () => {
    throw passkeysDisabled()
  }
  app.get('/admin/users/:userId/passkeys', { schema }, refuse)
  app.delete('/admin/users/:userId/passkeys/:passkeyId', { schema }, refuse)
}
