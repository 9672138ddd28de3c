import { noteThrown } from '@trestle/common/errors/error-handler.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers, errorVocabulary } from '../error-body.ts'
import {
  callbackFailureRedirect,
  codeRedirect,
  externalSessionRedirect,
  unknownFlowRedirect,
} from '../flows/flow-redirect.ts'
import { type RequestContextDeps, readClient } from '../plugins/request-context.ts'
import { type SessionViewDeps, signNewSession } from '../sessions/session-view.ts'
import {
  type FinishAuthorizationDeps,
  type FinishAuthorizationInput,
  finishAuthorization,
  takeAuthorization,
} from '../use-cases/finish-authorization.ts'

/** A form may be twice as long as the URL of a GET. */
const FORM_BYTES_MAX = 16_384

const OAUTH1_ONLY = 'Of a provider of OAuth 1.0a'
const CallbackAnswer = z.object({
  state: z.string().optional(),
  code: z.string().optional(),
  error: z.string().optional(),
  error_description: z.string().optional(),
  user: z.string().optional().meta({ description: 'The name of a user of Apple, as JSON' }),
  oauth_token: z.string().optional().meta({ description: OAUTH1_ONLY }),
  oauth_verifier: z.string().optional().meta({ description: OAUTH1_ONLY }),
  denied: z.string().optional().meta({ description: OAUTH1_ONLY }),
})

type CallbackAnswer = z.output<typeof CallbackAnswer>

const redirects = { 302: z.undefined(), 303: z.undefined() } as const

/** `GET /callback`, `POST /callback`: a browser returns from a provider. Errors are answered by a redirect too. */
export const callbackRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app

  app.get(
    '/callback',
    {
      exposeHeadRoute: false,
      config: { rateBucket: 'callback' },
      schema: {
        summary: 'Return from an external provider; answers a redirect (302)',
        security: [],
        querystring: CallbackAnswer,
        response: { ...redirects, ...errorAnswers(400, 429) },
      },
    },
    async (request, reply) => {
      const { address, status } = await finishFlow(deps, request, request.query)
      return reply.header('referrer-policy', 'no-referrer').redirect(address, status)
    },
  )
  app.post(
    '/callback',
    {
      bodyLimit: FORM_BYTES_MAX,
      config: { rateBucket: 'callback', forms: true },
      schema: {
        summary: 'Return from an external provider that posts a form; answers a redirect (302)',
        security: [],
        body: CallbackAnswer,
        response: { ...redirects, ...errorAnswers(400, 413, 429) },
      },
    },
    async (request, reply) => {
      const { address, status } = await finishFlow(deps, request, request.body)
      return reply.header('referrer-policy', 'no-referrer').redirect(address, status)
    },
  )
}

type CallbackDeps = FinishAuthorizationDeps & RequestContextDeps & SessionViewDeps

/** Where the browser goes next. */
interface NextAddress {
  readonly address: string
  readonly status: 302 | 303
}

/** Takes the flow of an answer and signs in. The flow knows where the browser wanted to go: without it SITE_URL gets the error. */
async function finishFlow(deps: CallbackDeps, request: FastifyRequest, answer: CallbackAnswer): Promise<NextAddress> {
  try {
    const flow = await takeAuthorization(deps, answer.state)
    const context = { ...(await readClient(deps, request)), redirectTo: flow.redirectTo }
    return { address: await completeSignIn(deps, request, { flow, answer, context }), status: 302 }
  } catch (thrown) {
    const error = noteThrown(errorVocabulary, thrown, request)
    return { address: unknownFlowRedirect(deps.config.signup.redirects.siteUrl, error), status: 303 }
  }
}

/** The address where a flow ends, with the session or with the error. */
function completeSignIn(deps: CallbackDeps, request: FastifyRequest, input: FinishAuthorizationInput): Promise<string> {
  return signIn(deps, input).catch((thrown: unknown) =>
    callbackFailureRedirect(input.flow.redirectTo, noteThrown(errorVocabulary, thrown, request)),
  )
}

/** The address where a flow ends that has succeeded. @throws what `finishAuthorization` throws */
async function signIn(deps: CallbackDeps, input: FinishAuthorizationInput): Promise<string> {
  const { redirectTo, provider } = input.flow
  const finished = await finishAuthorization(deps, input)
  if (finished.verdict === 'auth-code') return codeRedirect(redirectTo, finished.code)
  const session = await signNewSession(deps, finished.session)
  return externalSessionRedirect(redirectTo, { session, provider, tokens: finished.tokens })
}
