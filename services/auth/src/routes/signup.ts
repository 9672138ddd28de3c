import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../error-body.ts'
import { PKCE_TOGETHER, pkceFieldsOfForms } from '../flows/pkce.ts'
import { RedirectQuery } from '../flows/redirect-allow-list.ts'
import { metadataBodyBytesMax } from '../plugins/json-body.ts'
import { readContext } from '../plugins/read-context.ts'
import {
  captchaFields,
  emailField,
  freeChannelField,
  phoneField,
  withChannel,
  withNewPassword,
  withTexts,
} from '../requests/fields.ts'
import { SessionView } from '../sessions/session-view.ts'
import { signInAnonymously, signUp } from '../use-cases/sign-up.ts'
import { Metadata } from '../users/metadata.ts'
import { UserView, viewUser } from '../users/user-view.ts'

const SignUpBody = z
  .looseObject({
    email: emailField,
    phone: phoneField,
    password: z.string().optional().meta({ example: 'correct horse battery staple' }),
    data: Metadata.optional(),
    channel: freeChannelField,
    ...pkceFieldsOfForms,
    ...captchaFields,
  })
  .meta({
    anyOf: [
      { ...withNewPassword(withTexts(['email'], ['phone'])), ...PKCE_TOGETHER },
      withChannel(withNewPassword(withTexts(['phone'], ['email', ...Object.keys(pkceFieldsOfForms)]))),
      withTexts([], ['email', 'phone']),
    ],
  })

/** A session and its user in one object (reference: POST /signup). */
const SignedIn = z.object({ ...SessionView.shape, ...UserView.shape })

type SignedIn = z.output<typeof SignedIn>

/** `POST /signup`: signs up by email or phone, or anonymously if the body contains neither. */
export const signupRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  app.post(
    '/signup',
    {
      bodyLimit: metadataBodyBytesMax(deps.config),
      config: { captcha: true, rateBucket: 'signup' },
      schema: {
        operationId: 'signUp',
        tags: ['Sign-in'],
        summary: 'Sign up by email or phone, or anonymously',
        description: 'Without an email and a phone, the user is anonymous.',
        security: [],
        querystring: RedirectQuery,
        body: SignUpBody,
        response: { 200: z.union([SignedIn, SessionView, UserView]), ...errorAnswers(400, 403, 413, 422, 429) },
      },
    },
    async (request, reply) => {
      const { body: fields, clientAddress } = request
      const contextOf = () => readContext(deps, request, reply)
      const toSignedIn = (view: SessionView): SignedIn | SessionView =>
        deps.config.compatibility.showUserBesideSession ? { ...view, ...view.user } : view
      if (!fields.email && !fields.phone) {
        const { limitKey } = clientAddress
        return toSignedIn(await signInAnonymously(deps, { data: fields.data, limitKey, readContext: contextOf }))
      }
      const result = await signUp(deps, { fields, readContext: contextOf })
      return result.verdict === 'signed-in' ? toSignedIn(result.session) : viewUser({ ...result, factors: [] })
    },
  )
}
