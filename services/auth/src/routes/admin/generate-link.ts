import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { LINK_TYPES, type LinkType } from '../../one-time-tokens/link-type.ts'
import { plainJson } from '../../plugins/plain-json.ts'
import { readContext } from '../../plugins/request-context.ts'
import { linkTypeUnsupported } from '../../request-errors.ts'
import { emailField, needs, passwordField } from '../../requests/documented-fields.ts'
import { requireEmail } from '../../requests/identifier.ts'
import { type GeneratedLink, generateLink } from '../../use-cases/generate-link.ts'
import { Metadata, requireMetadata } from '../../users/metadata.ts'
import { UserView, viewUser } from '../../users/user-view.ts'

const LinkBody = z
  .object({
    type: z
      .string()
      .optional()
      .meta({ enum: [...LINK_TYPES], description: 'What the link is for' }),
    email: emailField,
    new_email: emailField.meta({ format: 'email', description: 'The new address, for a change of email' }),
    password: passwordField.meta({
      minLength: 6,
      maxLength: 72,
      description: 'The password of the new user, for a sign-up',
    }),
    data: Metadata.optional().meta({
      description: 'The user_metadata of the new user, for a sign-up or an invitation',
    }),
    redirect_to: z.string().optional(),
  })
  .meta(needs('type', 'email'))

/** The user and the link in one object (reference: Generated links). */
const LinkAnswer = UserView.extend({
  action_link: z.string(),
  email_otp: z.string(),
  hashed_token: z.string().meta({ description: 'The token in the link' }),
  verification_type: z.enum(LINK_TYPES),
  redirect_to: z.string(),
  token: z.string(),
  type: z.string(),
})

/** `POST /admin/generate_link`: a link and a code that the admin sends by other means. No mail goes out. */
export const generateLinkRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  app.post(
    '/admin/generate_link',
    {
      schema: {
        operationId: 'generateLink',
        tags: ['Admin'],
        summary: 'Generate a link and a code without sending a mail',
        body: LinkBody,
        response: { 200: LinkAnswer, ...errorAnswers(400, 401, 403, 404, 413, 422) },
      },
      serializerCompiler: plainJson,
    },
    async (request, reply) => {
      const { admin, body } = request
      const type = requireLinkType(body.type)
      const context = await readContext(deps, request, reply, body.redirect_to)
      const link = await generateLink(deps, { admin, ...readWanted(type, body), context })
      return toLinkAnswer(link, context.redirectTo)
    },
  )
}

/** @throws metadataTooLarge */
function readWanted(type: LinkType, body: z.output<typeof LinkBody>) {
  return {
    type,
    email: requireEmail(body.email ?? ''),
    newEmail: type.startsWith('email_change') ? requireEmail(body.new_email ?? '') : '',
    password: body.password,
    data: requireMetadata(body.data),
  }
}

function toLinkAnswer(link: GeneratedLink, redirectTo: string): z.output<typeof LinkAnswer> {
  const { url: action_link, code: email_otp, token, verificationType: verification_type, linkType: type } = link
  const secrets = { action_link, email_otp, hashed_token: token, verification_type }
  return { ...viewUser(link), ...secrets, redirect_to: redirectTo, token, type }
}

function requireLinkType(text: string | undefined): LinkType {
  const type = LINK_TYPES.find((known) => known === text)
  if (type === undefined) throw linkTypeUnsupported({ type: text ?? '' })
  return type
}
