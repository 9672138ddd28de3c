import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { unsupportedGrantType, web3Disabled } from '../errors.ts'
import { plainJson } from '../plugins/answers.ts'
import { readCaller } from '../plugins/authenticate.ts'
import { requireCaptcha } from '../plugins/captcha.ts'
import { JSON_AND_FORMS } from '../plugins/json-body.ts'
import { type RequestContextDeps, readAudience, readContext, readSessionOrigin } from '../plugins/read-context.ts'
import { bodyEmpty } from '../request-errors.ts'
import { captchaFields, emailField, phoneField, withTexts } from '../requests/fields.ts'
import { refreshHeaders } from '../sessions/session.ts'
import { SessionView } from '../sessions/session-view.ts'
import { type GrantAuthCodeDeps, grantAuthCode } from '../use-cases/grant-auth-code.ts'
import { type GrantIdTokenDeps, grantIdToken } from '../use-cases/grant-id-token.ts'
import { type GrantPasswordDeps, grantPassword } from '../use-cases/grant-password.ts'
import { type GrantRefreshTokenDeps, grantRefreshToken } from '../use-cases/grant-refresh-token.ts'

const GRANT_TYPES = ['password', 'refresh_token', 'pkce', 'id_token']

const TokenQuery = z.object({
  grant_type: z
    .string()
    .optional()
    .meta({ enum: GRANT_TYPES, description: 'The way in which tokens are asked for. May stand in the body of a form' }),
})

/** The fields of the grant `id_token`. */
const idTokenFields = {
  id_token: z.string().optional(),
  provider: z.string().optional().meta({
    description: 'The provider that made the id_token: apple, azure, facebook, google, keycloak, snapchat or custom:…',
  }),
  issuer: z
    .string()
    .optional()
    .meta({ description: 'The issuer of the id_token, in place of provider and with client_id' }),
  client_id: z.string().optional(),
  access_token: z
    .string()
    .optional()
    .meta({ description: 'The access token of the provider that came with the id_token' }),
  nonce: z.string().optional().meta({ description: 'The nonce of the id_token. The provider was given its SHA-256' }),
  link_identity: z
    .boolean()
    .optional()
    .meta({ description: 'Whether to add the identity to the account of the access token' }),
}

const TokenBody = z
  .object({
    grant_type: z.string().optional().meta({ enum: GRANT_TYPES }),
    email: emailField,
    phone: phoneField,
    password: z.string().optional(),
    refresh_token: z.string().optional(),
    auth_code: z.string().optional(),
    code_verifier: z.string().optional(),
    ...idTokenFields,
    ...captchaFields,
  })
  .meta({
    anyOf: [
      withTexts(['email', 'password'], ['phone']),
      withTexts(['phone', 'password'], ['email']),
      {
        required: ['refresh_token'],
        properties: { refresh_token: { type: 'string', pattern: '^[A-Za-z0-9_-]{12,}$' } },
      },
      withTexts(['auth_code', 'code_verifier']),
      withTexts(['id_token']),
    ],
  })
  .optional()

const TokenAnswer = SessionView.extend({
  weak_password: z
    .object({ message: z.string(), reasons: z.array(z.string()) })
    .nullish()
    .meta({ description: 'Why the password no longer meets the policy. Only the password grant has it' }),
  provider_token: z.string().optional().meta({
    description: 'The access token of the provider. Only the pkce grant has it, after a sign-in at a provider',
  }),
  provider_refresh_token: z.string().optional(),
})

/** `POST /token`: exchanges a password, a refresh token, an id_token or an auth code for a session. */
export const tokenRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/token',
    {
      config: { rateBucket: 'token', forms: true, oauthNames: true },
      schema: {
        operationId: 'createSession',
        consumes: JSON_AND_FORMS,
        tags: ['Sign-in'],
        summary: 'Sign in, or refresh a session',
        description:
          'By password or id_token, by a refresh token, or by the code of a PKCE flow. `grant_type` says which.',
        security: [],
        querystring: TokenQuery,
        body: TokenBody,
        bodyRequired: true,
        response: { 200: TokenAnswer, ...errorAnswers(400, 401, 403, 404, 409, 413, 422, 429) },
      },
      serializerCompiler: plainJson,
      preValidation: async (request) => {
        if (readGrantType(request) === 'password') await requireCaptcha(app.deps, request)
      },
    },
    async (request, reply) => {
      const grantType = readGrantType(request)
      const grant = grants.get(grantType)
      if (grant === undefined) throw unsupportedGrantType()
      // Log only known grants. Any other text comes from the client, has any length and may contain a secret.
      request.logFields = { ...request.logFields, grant_type: grantType }
      return grant(app.deps, request, reply)
    },
  )
}

interface TokenRequest extends FastifyRequest {
  readonly query: z.output<typeof TokenQuery>
  readonly body: z.output<typeof TokenBody>
}

type GrantDeps = GrantPasswordDeps & GrantRefreshTokenDeps & GrantAuthCodeDeps & GrantIdTokenDeps & RequestContextDeps

type GrantByRequest = (deps: GrantDeps, request: TokenRequest, reply: FastifyReply) => Promise<SessionView>

const grants: ReadonlyMap<string | undefined, GrantByRequest> = new Map<string, GrantByRequest>([
  ['password', grantByPassword],
  ['refresh_token', grantByRefreshToken],
  ['pkce', grantByAuthCode],
  ['id_token', grantByIdToken],
  ['web3', () => Promise.reject(web3Disabled())],
])

async function grantByPassword(
  deps: GrantPasswordDeps & RequestContextDeps,
  request: TokenRequest,
): Promise<SessionView> {
  const { email, phone, password } = requireBody(request)
  const audience = await readAudience(deps, request)
  const { failedAs } = request.clientAddress
  return grantPassword(deps, { ...readSessionOrigin(request), failedAs, email, phone, password, audience })
}

async function grantByRefreshToken(
  deps: GrantRefreshTokenDeps,
  request: TokenRequest,
  reply: FastifyReply,
): Promise<SessionView> {
  const { refresh_token: refreshToken } = requireBody(request)
  const refreshed = await grantRefreshToken(deps, { ...readSessionOrigin(request), refreshToken })
  reply.headers(refreshHeaders(deps.config.compatibility, refreshed))
  return refreshed.session
}

async function grantByAuthCode(deps: GrantAuthCodeDeps, request: TokenRequest): Promise<SessionView> {
  const { auth_code: authCode, code_verifier: codeVerifier } = requireBody(request)
  const { limitKey } = request.clientAddress
  return grantAuthCode(deps, { ...readSessionOrigin(request), authCode, codeVerifier, limitKey })
}

async function grantByIdToken(deps: GrantDeps, request: TokenRequest, reply: FastifyReply): Promise<SessionView> {
  const { id_token: idToken, client_id: clientId, access_token: accessToken, ...rest } = requireBody(request)
  const { provider, issuer, nonce, link_identity: isLink } = rest
  const linkTo = isLink ? readCaller(deps, request) : undefined
  const context = await readContext(deps, request, reply)
  return grantIdToken(deps, { idToken, provider, issuer, clientId, accessToken, nonce, linkTo, context })
}

/** The requested grant, from the query or a form body. */
function readGrantType({ query, body }: Pick<TokenRequest, 'query' | 'body'>): string | undefined {
  return query.grant_type ?? body?.grant_type
}

function requireBody({ body }: TokenRequest): NonNullable<TokenRequest['body']> {
  if (body === undefined) throw bodyEmpty()
  return body
}
