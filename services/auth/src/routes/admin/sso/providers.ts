import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { errorSchema } from '../../../error-envelope.ts'
import { samlDisabled } from '../../../errors.ts'

const schema = {
  summary: 'SAML providers: not offered',
  response: { '4xx': errorSchema, '5xx': errorSchema },
} as const

/** `/admin/sso/providers`: what clients are told where SAML is not offered. */
export const adminSsoProvidersRoutes: FastifyPluginAsyncZod = async (app) => {
  const refuse = async () => {
    throw samlDisabled()
  }
  app.get('/admin/sso/providers', { schema }, refuse)
  app.post('/admin/sso/providers', { schema }, refuse)
  app.get('/admin/sso/providers/:providerId', { schema }, refuse)
  app.put('/admin/sso/providers/:providerId', { schema }, refuse)
  app.delete('/admin/sso/providers/:providerId', { schema }, refuse)
}
