import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { AuthDeps } from '../deps.ts'
import { errorAnswers } from '../error-body.ts'
import {
  anonymousDisabled,
  emailSignupsDisabled,
  phoneSignupsDisabled,
  signupDisabled,
  validationFailed,
} from '../errors.ts'
import { type PkceChallenge, parsePkce, pkceFields } from '../flows/pkce.ts'
import { requireIdentifier, type UserIdentifier } from '../identifier.ts'
import type { SmsChannel } from '../messages/gateway-protocol.ts'
import { requireChannel } from '../messages/require-channel.ts'
import { refuseBreached } from '../passwords/breached-passwords.ts'
import { requireSignUpPassword } from '../passwords/password-policy.ts'
import { readContext } from '../plugins/request-context.ts'
import type { IssuedSession } from '../sessions/session.ts'
import { sessionViewSchema, signNewSession } from '../sessions/session-view.ts'
import { signInAnonymously } from '../use-cases/sign-in-anonymously.ts'
import { signUp } from '../use-cases/sign-up.ts'
import { METADATA_BODY_BYTES, requireMetadata } from '../users/metadata.ts'
import { toUserView, userViewSchema } from '../users/user-view.ts'

const signUpBody = z.looseObject({
  email: z.string().optional(),
  phone: z.string().optional(),
  password: z.string().optional(),
  data: z.record(z.string(), z.unknown()).optional(),
  channel: z.string().optional(),
  ...pkceFields,
})

type SignUpBody = z.output<typeof signUpBody>

/** A session and its user in one (reference: POST /signup). */
const signedInSchema = z.object({ ...sessionViewSchema.shape, ...userViewSchema.shape })

/** `POST /signup`: by email or phone, or anonymously where neither is given. */
export const signupRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  app.post(
    '/signup',
    {
      bodyLimit: METADATA_BODY_BYTES,
      config: { captcha: true, rateBucket: 'signup' },
      schema: {
        summary: 'Sign up by email or phone, or anonymously',
        security: [],
        body: signUpBody,
        response: { 200: z.union([signedInSchema, userViewSchema]), ...errorAnswers(400, 403, 413, 422, 429) },
      },
    },
    async (request, reply) => {
      const { body } = request
      if (!body.email && !body.phone) {
        await admitAnonymous(deps, request)
        const context = await readContext(deps, request, reply)
        return toSignedIn(deps, await signInAnonymously(deps, { data: requireMetadata(body.data), context }))
      }
      const result = await signUp(deps, {
        ...(await checkSignUp(deps, body)),
        data: requireMetadata(body.data),
        context: await readContext(deps, request, reply),
      })
      return result.verdict === 'signed-in'
        ? toSignedIn(deps, result.session)
        : toUserView(result.user, result.identities, [])
    },
  )
}

async function admitAnonymous({ config, rateLimits }: AuthDeps, request: FastifyRequest): Promise<void> {
  const { limitKey } = request.clientAddress
  // It was counted as a signup before its body was read, and is none.
  await rateLimits.giveBack('signup', limitKey)
  if (!config.signup.anonymousEnabled) throw anonymousDisabled()
  await rateLimits.consume('anonymous', limitKey)
  if (config.signup.disabled) throw signupDisabled()
}

interface CheckedSignUp {
  readonly identifier: UserIdentifier
  readonly password: string
  readonly pkce: PkceChallenge | undefined
  readonly channel: SmsChannel
}

/** Checks the members (reference: POST /signup). The order decides which error a client sees. */
async function checkSignUp(deps: AuthDeps, body: SignUpBody): Promise<CheckedSignUp> {
  const { config } = deps
  if (config.signup.disabled) throw signupDisabled()
  const password = requireSignUpPassword(config.passwords.policy, body.password)
  await refuseBreached(deps, password)
  if (body.email && body.phone) {
    throw validationFailed({ message: 'Only an email address or phone number should be provided on signup.' })
  }
  const channel = body.phone ? requireChannel(config.sms.provider, body.channel) : 'sms'
  const hasPkce = Boolean(body.code_challenge || body.code_challenge_method)
  if (body.phone && hasPkce) throw validationFailed({ message: 'PKCE not supported for phone signups' })
  const pkce = parsePkce(body, config.signup.pkce)
  if (body.email && !config.signup.emailEnabled) throw emailSignupsDisabled()
  if (body.phone && !config.signup.phoneEnabled) throw phoneSignupsDisabled()
  return { identifier: requireIdentifier(body), password, pkce, channel }
}

async function toSignedIn(deps: AuthDeps, session: IssuedSession): Promise<z.output<typeof signedInSchema>> {
  const view = await signNewSession(deps, session)
  return { ...view, ...view.user }
}
