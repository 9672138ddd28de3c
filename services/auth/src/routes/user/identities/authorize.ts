import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { AuthorizeQuery, readAuthorizeQuery } from '../../../flows/redirect-allow-list.ts'
import { noStore } from '../../../plugins/answers.ts'
import { authenticate } from '../../../plugins/authenticate.ts'
import { readContext } from '../../../plugins/read-context.ts'
import { needs } from '../../../requests/fields.ts'
import { startLinking } from '../../../use-cases/start-linking.ts'

/** `GET /user/identities/authorize`: redirects the browser to a provider, to link an identity to the caller's account. */
export const linkingRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(authenticate)

  app.get(
    '/user/identities/authorize',
    {
      config: { rateBucket: 'sso' },
      exposeHeadRoute: false,
      schema: {
        operationId: 'linkIdentity',
        tags: ['Providers'],
        summary: 'Link an identity by signing in at an external provider',
        description: 'Answers a redirect to the provider, or its URL.',
        querystring: AuthorizeQuery.extend({
          skip_http_redirect: z
            .string()
            .optional()
            .meta({ example: 'true', description: 'With true the answer is the URL as JSON, in place of a redirect' }),
        }).meta(needs('provider')),
        response: {
          200: z.object({ url: z.string() }),
          302: z.undefined(),
          ...errorAnswers(400, 401, 403, 404, 422, 429),
        },
      },
    },
    async (request, reply) => {
      const { redirectTo } = await readContext(deps, request, reply)
      const { caller, query } = request
      const parameters = readAuthorizeQuery(query, deps.config.signup.pkce)
      const url = await startLinking(deps, { caller, request: { ...parameters, redirectTo } })
      if (query.skip_http_redirect === 'true') return { url }
      return reply.header('referrer-policy', 'no-referrer').redirect(url, 302)
    },
  )
}
