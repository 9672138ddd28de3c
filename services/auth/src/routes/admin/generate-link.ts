import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import {
  GeneratedLinkView,
  LINK_TYPES,
  type LinkType,
  viewGeneratedLink,
} from '../../one-time-tokens/verify-request.ts'
import { plainJson } from '../../plugins/answers.ts'
import { readContext } from '../../plugins/read-context.ts'
import { linkTypeUnsupported } from '../../request-errors.ts'
import {
  EMAIL_ADDRESS,
  neededEmailField,
  needs,
  requireEmail,
  withNewPassword,
  withTexts,
  withValues,
} from '../../requests/fields.ts'
import { generateLink } from '../../use-cases/generate-link.ts'
import { Metadata, type MetadataRules, requireMetadata } from '../../users/metadata.ts'

/** The form of a body for a change of email. */
const NEW_ADDRESS = { required: ['new_email'], properties: { new_email: EMAIL_ADDRESS } }

const LinkBody = z
  .object({
    type: z
      .string()
      .optional()
      .meta({ enum: [...LINK_TYPES], description: 'What the link is for' }),
    email: neededEmailField,
    new_email: z.string().optional().meta({ description: 'The new address, for a change of email' }),
    password: z.string().optional().meta({ description: 'The password of the new user, for a sign-up' }),
    data: Metadata.optional().meta({
      description: 'The user_metadata of the new user, for a sign-up or an invitation',
    }),
    redirect_to: z.string().optional(),
  })
  .meta({
    ...needs('type', 'email'),
    anyOf: [
      withValues('type', ['invite', 'magiclink', 'recovery']),
      withValues('type', ['signup'], withNewPassword(withTexts([]))),
      withValues('type', ['email_change_current', 'email_change_new'], NEW_ADDRESS),
    ],
  })

/** `POST /admin/generate_link`: a link and a code for the admin to deliver. auth sends no mail. */
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
        response: { 200: GeneratedLinkView, ...errorAnswers(400, 401, 403, 404, 413, 422) },
      },
      serializerCompiler: plainJson,
    },
    async (request, reply) => {
      const { admin, body } = request
      const type = requireLinkType(body.type)
      const context = await readContext(deps, request, reply, body.redirect_to)
      const link = await generateLink(deps, { admin, ...readWanted(deps.config, type, body), context })
      return viewGeneratedLink(link, context.redirectTo, deps.config.compatibility)
    },
  )
}

function readWanted(config: MetadataRules, type: LinkType, body: z.output<typeof LinkBody>) {
  return {
    type,
    email: requireEmail(body.email ?? ''),
    newEmail: type.startsWith('email_change') ? requireEmail(body.new_email ?? '') : '',
    password: body.password,
    data: requireMetadata(config, body.data),
  }
}

function requireLinkType(text: string | undefined): LinkType {
  const type = LINK_TYPES.find((known) => known === text)
  if (type === undefined) throw linkTypeUnsupported({ type: text ?? '' })
  return type
}
