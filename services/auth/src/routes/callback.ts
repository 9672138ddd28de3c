import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { logThrown } from '@trestle/common/errors/error-handler.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers, redirectVocabulary } from '../error-body.ts'
import { answerRepeated } from '../external-errors.ts'
import {
  callbackFailureRedirect,
  codeRedirect,
  externalSessionRedirect,
  unknownFlowRedirect,
  withPathOf,
} from '../flows/flow-redirect.ts'
import { nameSession } from '../plugins/answers.ts'
import { JSON_AND_FORMS } from '../plugins/json-body.ts'
import { type RequestContextDeps, readClient } from '../plugins/read-context.ts'
import {
  type FinishAuthorizationDeps,
  type FinishAuthorizationInput,
  type FinishedAuthorization,
  finishAuthorization,
} from '../use-cases/finish-authorization.ts'

/** Twice the limit for the URL of a `GET`. */
const FORM_BYTES_MAX = 16_384

const OAUTH1_ONLY = 'Of a provider of OAuth 1.0a'
const CallbackAnswer = z.object({
  state: z.string().optional(),
  code: z.string().optional(),
  error: z.string().optional().meta({ description: 'Why the provider refused' }),
  iss: z.string().optional().meta({ description: 'The issuer of the provider (RFC 9207)' }),
  error_description: z.string().optional().meta({ description: 'The same, for people' }),
  user: z.string().optional().meta({ description: 'The name of a user of Apple, as JSON' }),
  oauth_token: z.string().optional().meta({ description: OAUTH1_ONLY }),
  oauth_verifier: z.string().optional().meta({ description: OAUTH1_ONLY }),
  denied: z.string().optional().meta({ description: OAUTH1_ONLY }),
})

type CallbackAnswer = z.output<typeof CallbackAnswer>

const ProviderPath = z.object({
  provider: z.string().meta({ description: 'The provider whose redirect URI this is', example: 'custom:company' }),
})

const redirects = { 302: z.undefined(), 303: z.undefined() } as const

/**
 * `/callback`, and `/callback/:provider` for a provider with its own URL: a browser returns from the provider by `GET` or `POST`.
 * Even an error is a redirect.
 */
export const callbackRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app

  app.get('/callback', byQuery({ operationId: 'finishProviderSignIn' }), (request, reply) =>
    redirectAfter(deps, request, reply, { answer: queryAnswer(request), calledAt: undefined }),
  )
  app.post('/callback', byForm({ operationId: 'finishProviderSignInByForm' }), (request, reply) =>
    redirectAfter(deps, request, reply, { answer: request.body, calledAt: undefined }),
  )
  app.get(
    '/callback/:provider',
    byQuery({ operationId: 'finishProviderSignInAtOwnAddress', params: ProviderPath }),
    (request, reply) =>
      redirectAfter(deps, request, reply, { answer: queryAnswer(request), calledAt: request.params.provider }),
  )
  app.post(
    '/callback/:provider',
    byForm({ operationId: 'finishProviderSignInAtOwnAddressByForm', params: ProviderPath }),
    (request, reply) =>
      redirectAfter(deps, request, reply, { answer: request.body, calledAt: request.params.provider }),
  )
}

const described = {
  tags: ['Providers'],
  description: 'Answers a redirect with the session, an auth code or the error.',
  security: [],
}

/** Route options for a return by `GET`. */
const byQuery = <const Own extends object>(own: Own) => ({
  exposeHeadRoute: false,
  config: { rateBucket: 'callback' } as const,
  schema: {
    ...described,
    summary: 'Return from an external provider',
    querystring: CallbackAnswer,
    response: { ...redirects, ...errorAnswers(400, 429) },
    ...own,
  },
})

/** Route options for a return by a form. */
const byForm = <const Own extends object>(own: Own) => ({
  bodyLimit: FORM_BYTES_MAX,
  config: { rateBucket: 'callback', forms: true } as const,
  schema: {
    ...described,
    consumes: JSON_AND_FORMS,
    summary: 'Return from an external provider that posts a form',
    body: CallbackAnswer,
    response: { ...redirects, ...errorAnswers(400, 413, 429) },
    ...own,
  },
})

type CallbackDeps = FinishAuthorizationDeps & RequestContextDeps

/** Finishes the flow of a response and redirects the browser. Without a flow, the error goes to SITE_URL. */
async function redirectAfter(
  deps: CallbackDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  returned: Pick<FinishAuthorizationInput, 'answer' | 'calledAt'>,
) {
  const toNotedError = (thrown: unknown) => logThrown(redirectVocabulary, thrown, request)
  const { siteUrl } = deps.config.signup.redirects
  const finish = async () => {
    requireDistinct(request.url)
    return finishAuthorization(deps, { ...returned, readContext: () => readClient(deps, request) })
  }
  const { redirectTo, address, status } = await finish()
    .then((finished) => {
      if (finished.verdict === 'session') nameSession(deps, reply, finished.session)
      return { redirectTo: finished.redirectTo, address: addressAfter(deps, finished, toNotedError), status: 302 }
    })
    .catch((thrown: unknown) => ({
      redirectTo: siteUrl,
      address: unknownFlowRedirect(siteUrl, toNotedError(thrown)),
      status: 303,
    }))
  const { compatibility } = deps.config
  return reply.header('referrer-policy', 'no-referrer').redirect(withPathOf(compatibility, redirectTo, address), status)
}

/** Reads the response from a query. An empty `iss` counts as present, unlike other empty parameters. */
function queryAnswer({ query, url }: FastifyRequest<{ Querystring: CallbackAnswer }>): CallbackAnswer {
  return { ...query, iss: parametersOf(url).get('iss') ?? undefined }
}

/** Rejects repeated parameters, because programs use different values of them (RFC 6749, 3.1). Forms are checked earlier. */
function requireDistinct(url: string): void {
  const names = [...parametersOf(url).keys()].filter((name) => Object.hasOwn(CallbackAnswer.shape, name))
  if (new Set(names).size < names.length) throw answerRepeated()
}

function parametersOf(url: string): URLSearchParams {
  return new URLSearchParams(url.split('?', 2)[1])
}

/** Returns the URL of the redirect after a flow. */
function addressAfter(
  { config }: Pick<CallbackDeps, 'config'>,
  finished: FinishedAuthorization,
  toNotedError: (thrown: unknown) => HttpError,
): string {
  switch (finished.verdict) {
    case 'session':
      return externalSessionRedirect(finished.redirectTo, {
        ...finished,
        provider: config.compatibility.showProviderInFragment ? finished.provider : undefined,
      })
    case 'auth-code':
      return codeRedirect(finished.redirectTo, finished.code)
    case 'failed':
      return callbackFailureRedirect(finished.redirectTo, toNotedError(finished.thrown), config.compatibility)
  }
}
