import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { pkceFields } from '../flows/pkce.ts'
import { type RequestContextDeps, readContext } from '../plugins/request-context.ts'
import { SessionView, type SessionViewDeps, signNewSession } from '../sessions/session-view.ts'
import {
  checkAnonymousSignIn,
  type SignInAnonymouslyDeps,
  signInAnonymously,
} from '../use-cases/sign-in-anonymously.ts'
import { checkSignUp, type SignUpDeps, signUp } from '../use-cases/sign-up.ts'
import { METADATA_BODY_BYTES_MAX, Metadata, requireMetadata } from '../users/metadata.ts'
import { UserView, viewUser } from '../users/user-view.ts'

const SignUpBody = z.looseObject({
  email: z.string().optional(),
  phone: z.string().optional(),
  password: z.string().optional(),
  data: Metadata.optional(),
  channel: z.string().optional(),
  ...pkceFields,
})

/** A session and its user in one (reference: POST /signup). */
const SignedIn = z.object({ ...SessionView.shape, ...UserView.shape })

type SignedIn = z.output<typeof SignedIn>

/** `POST /signup`: by email or phone, or anonymously where neither is given. */
export const signupRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  app.post(
    '/signup',
    {
      bodyLimit: METADATA_BODY_BYTES_MAX,
      config: { captcha: true, rateBucket: 'signup' },
      schema: {
        summary: 'Sign up by email or phone, or anonymously',
        security: [],
        body: SignUpBody,
        response: { 200: z.union([SignedIn, UserView]), ...errorAnswers(400, 403, 413, 422, 429) },
      },
    },
    (request, reply) => {
      const { email, phone } = request.body
      return email || phone ? signUpByAddress(deps, request, reply) : signUpAnonymously(deps, request, reply)
    },
  )
}

interface SignUpRequest extends FastifyRequest {
  readonly body: z.output<typeof SignUpBody>
}

type AddressDeps = SignUpDeps & RequestContextDeps & SessionViewDeps

async function signUpByAddress(deps: AddressDeps, request: SignUpRequest, reply: FastifyReply) {
  const { body } = request
  const checked = await checkSignUp(deps, body)
  const data = requireMetadata(body.data)
  const context = await readContext(deps, request, reply)
  const result = await signUp(deps, { ...checked, data, context })
  if (result.verdict === 'signed-in') return toSignedIn(await signNewSession(deps, result.session))
  return viewUser({ ...result, factors: [] })
}

async function signUpAnonymously(
  deps: SignInAnonymouslyDeps & RequestContextDeps & SessionViewDeps,
  request: SignUpRequest,
  reply: FastifyReply,
): Promise<SignedIn> {
  await checkAnonymousSignIn(deps, request.clientAddress.limitKey)
  const context = await readContext(deps, request, reply)
  const data = requireMetadata(request.body.data)
  return toSignedIn(await signNewSession(deps, await signInAnonymously(deps, { data, context })))
}

function toSignedIn(view: SessionView): SignedIn {
  return { ...view, ...view.user }
}
