import { toHttpError } from '@trestle/common/errors/error-handler.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { AuthDeps } from '../deps.ts'
import { errorSchema, errorVocabulary } from '../error-body.ts'
import type { AuthorizationFlow } from '../flows/authorization-flow-repository.ts'
import { readContext } from '../plugins/request-context.ts'
import { callbackFailureRedirect, externalSessionRedirect, unknownFlowRedirect } from '../flows/callback-redirect.ts'
import { resolveRedirect } from '../flows/redirect-allow-list.ts'
import { codeRedirect } from '../flows/verify-redirect.ts'
import { finishAuthorization, takeAuthorization } from '../use-cases/finish-authorization.ts'
import { signNewSession } from '../use-cases/sign-new-session.ts'

/** Of a form, twice what the URL of a GET may have. */
const FORM_BYTES = 16_384

const answerSchema = z.object({
  state: z.string().optional(),
  code: z.string().optional(),
  error: z.string().optional(),
  error_description: z.string().optional(),
  user: z.string().optional().meta({ description: 'of Apple: a name, in JSON' }),
  oauth_token: z.string().optional().meta({ description: 'of OAuth 1.0a, as the next two' }),
  oauth_verifier: z.string().optional(),
  denied: z.string().optional(),
})

type CallbackAnswer = z.output<typeof answerSchema>

const response = { 302: z.undefined(), 303: z.undefined(), '4xx': errorSchema, '5xx': errorSchema } as const

/** `GET /callback`, `POST /callback`: a browser comes back from a provider; what can be read is answered by a redirect. */
export const callbackRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app

  app.get(
    '/callback',
    {
      exposeHeadRoute: false,
      config: { rateBucket: 'callback' },
      schema: {
        summary: 'Come back from a provider; answers a redirect (302)',
        security: [],
        querystring: answerSchema,
        response,
      },
    },
    async (request, reply) => {
      const { address, status } = await comeBack(deps, request, reply, request.query)
      return reply.header('referrer-policy', 'no-referrer').redirect(address, status)
    },
  )
  app.post(
    '/callback',
    {
      bodyLimit: FORM_BYTES,
      config: { rateBucket: 'callback', forms: true },
      schema: {
        summary: 'The same, from a provider that answers with a form',
        security: [],
        body: answerSchema,
        response,
      },
    },
    async (request, reply) => {
      const { address, status } = await comeBack(deps, request, reply, request.body)
      return reply.header('referrer-policy', 'no-referrer').redirect(address, status)
    },
  )
}

async function comeBack(
  deps: AuthDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: CallbackAnswer,
): Promise<{ readonly address: string; readonly status: 302 | 303 }> {
  const { siteUrl } = deps.config.signup.redirects
  try {
    const flow = await takeAuthorization(deps, answer.state)
    return { address: await finish(deps, request, reply, { flow, answer }), status: 302 }
  } catch (thrown) {
    return { address: unknownFlowRedirect(siteUrl, note(request, thrown)), status: 303 }
  }
}

/** Where a flow ends: with who has signed in, or with what went wrong. */
async function finish(
  deps: AuthDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { flow, answer }: { readonly flow: AuthorizationFlow; readonly answer: CallbackAnswer },
): Promise<string> {
  const target = targetOf(deps, flow)
  const context = { ...(await readContext(deps, request, reply)), redirectTo: target }
  try {
    const finished = await finishAuthorization(deps, { flow, answer, context })
    if (finished.verdict === 'auth-code') return codeRedirect(target, finished.code)
    const session = await signNewSession(deps, finished.session)
    return externalSessionRedirect(target, { session, provider: flow.provider, tokens: finished.tokens })
  } catch (thrown) {
    return callbackFailureRedirect(target, note(request, thrown))
  }
}

/** What was permitted when the flow began has to be permitted now: the list may have changed meanwhile. */
function targetOf({ config }: AuthDeps, { redirectTo }: AuthorizationFlow): string {
  const { external, signup } = config
  if (external.redirectUrl !== undefined) return external.redirectUrl
  return resolveRedirect([{ source: 'query', target: redirectTo }], signup.redirects).target
}

/** The error that the redirect tells, after the log has been told what it may not. */
function note(request: FastifyRequest, thrown: unknown) {
  const error = toHttpError(errorVocabulary, thrown, request)
  request.errorCode = error.code
  if (error.status >= 500) request.log.error({ err: error.cause ?? error }, error.message)
  return error
}
