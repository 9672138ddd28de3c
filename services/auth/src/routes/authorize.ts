import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { AuthorizeQuery, readAuthorizeQuery } from '../flows/redirect-allow-list.ts'
import { readContext } from '../plugins/read-context.ts'
import { needs } from '../requests/fields.ts'
import { startAuthorization } from '../use-cases/start-authorization.ts'

/** `GET /authorize`: redirects a browser to an external provider. */
export const authorizeRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app

  app.get(
    '/authorize',
    {
      config: { rateBucket: 'sso' },
      exposeHeadRoute: false,
      schema: {
        operationId: 'startProviderSignIn',
        tags: ['Providers'],
        summary: 'Sign in at an external provider',
        description: 'Answers a redirect to the provider.',
        security: [],
        querystring: AuthorizeQuery.extend({
          invite_token: z
            .string()
            .optional()
            .meta({ description: 'The token in the link of an invitation. The sign-in accepts the invitation' }),
        }).meta(needs('provider')),
        response: { 302: z.undefined(), ...errorAnswers(400, 404, 429) },
      },
    },
    async (request, reply) => {
      const { redirectTo } = await readContext(deps, request, reply)
      const inviteToken = request.query.invite_token
      const parameters = readAuthorizeQuery(request.query, deps.config.signup.pkce)
      const url = await startAuthorization(deps, { ...parameters, redirectTo, inviteToken, linking: null })
      return reply.header('referrer-policy', 'no-referrer').redirect(url, 302)
    },
  )
}
