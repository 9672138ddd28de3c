import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorSchema } from '../error-envelope.ts'
import { badJson, unsupportedGrantType, web3Disabled } from '../errors.ts'
import { requireCaptcha } from '../plugins/captcha.ts'
import { noStore } from '../plugins/headers.ts'
import { plainJson } from '../plugins/plain-json.ts'
import { readAudience } from '../plugins/request-context.ts'
import { readSessionOrigin } from '../plugins/session-origin.ts'
import { sessionViewSchema } from '../sessions/session-view.ts'
import { grantAuthCode } from '../use-cases/grant-auth-code.ts'
import { grantPassword } from '../use-cases/grant-password.ts'
import { grantRefreshToken } from '../use-cases/grant-refresh-token.ts'

const TokenQuery = z.object({
  grant_type: z.string().optional().meta({ description: 'password, refresh_token or pkce; may stand in a form body' }),
})

const TokenBody = z
  .object({
    grant_type: z.string().optional(),
    email: z.string().optional(),
    phone: z.string().optional(),
    password: z.string().optional(),
    refresh_token: z.string().optional(),
    auth_code: z.string().optional(),
    code_verifier: z.string().optional(),
  })
  .optional()

const TokenAnswer = sessionViewSchema.extend({
  weak_password: z
    .object({ message: z.string(), reasons: z.array(z.string()) })
    .optional()
    .meta({ description: 'password grant: the right password no longer meets the policy' }),
})

/** What a log line may say: any other text is the client's, of any length, and perhaps a secret. */
const GRANTS: ReadonlySet<string> = new Set(['password', 'refresh_token', 'pkce', 'web3'])

/** `POST /token` */
export const tokenRoutes: FastifyPluginAsyncZod = async (app) => {
  await app.register(noStore)

  app.post(
    '/token',
    {
      config: { rateBucket: 'token', forms: true, oauthNames: true },
      schema: {
        summary: 'Sign in by password, or exchange a refresh token or the code of a PKCE flow',
        security: [],
        querystring: TokenQuery,
        body: TokenBody,
        response: {
          200: TokenAnswer,
          400: errorSchema,
          404: errorSchema,
          409: errorSchema,
          422: errorSchema,
          429: errorSchema,
          503: errorSchema,
        },
      },
      serializerCompiler: plainJson,
      preValidation: async (request) => {
        if (readGrantType(request) === 'password') await requireCaptcha(app.deps, request)
      },
    },
    (request) => {
      const { body } = request
      const grantType = readGrantType(request)
      if (grantType !== undefined && GRANTS.has(grantType)) {
        request.logFields = { ...request.logFields, grant_type: grantType }
      }
      const origin = readSessionOrigin(request)
      switch (grantType) {
        case 'password': {
          const { email, phone, password } = requireBody(body)
          const audience = readAudience(app.deps, request)
          const address = request.clientAddress.trusted
          return grantPassword(app.deps, { ...origin, email, phone, password, audience, address })
        }
        case 'refresh_token':
          return grantRefreshToken(app.deps, { ...origin, refreshToken: requireBody(body).refresh_token })
        case 'pkce': {
          const { auth_code: authCode, code_verifier: codeVerifier } = requireBody(body)
          return grantAuthCode(app.deps, { ...origin, authCode, codeVerifier })
        }
        case 'web3':
          throw web3Disabled()
        default:
          throw unsupportedGrantType()
      }
    },
  )
}

/** Asked for in the query, or in a form body. */
function readGrantType({ query, body }: TokenRequest): string | undefined {
  return query.grant_type ?? body?.grant_type
}

interface TokenRequest {
  readonly query: z.output<typeof TokenQuery>
  readonly body: z.output<typeof TokenBody>
}

function requireBody<Body>(body: Body | undefined): Body {
  if (body === undefined) throw badJson({ message: 'Could not parse request body as JSON: the body is empty' })
  return body
}
