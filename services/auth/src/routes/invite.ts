import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { runWorkAlone } from '../audit/audit-log.ts'
import { errorAnswers } from '../error-body.ts'
import { RedirectQuery } from '../flows/redirect-allow-list.ts'
import { plainJson } from '../plugins/answers.ts'
import { readContext } from '../plugins/read-context.ts'
import { neededEmailField, needs, requireEmail } from '../requests/fields.ts'
import { inviteUser } from '../use-cases/invite-user.ts'
import { Metadata, requireMetadata } from '../users/metadata.ts'
import { UserView, viewUser } from '../users/user-view.ts'

const InviteBody = z
  .looseObject({
    email: neededEmailField,
    data: Metadata.optional(),
  })
  .meta(needs('email'))

/** `POST /invite`: creates a user for an admin and mails the invitation. */
export const inviteRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  app.post(
    '/invite',
    {
      schema: {
        operationId: 'inviteUser',
        tags: ['Admin'],
        summary: 'Invite a user by mail',
        querystring: RedirectQuery,
        body: InviteBody,
        response: { 200: UserView, ...errorAnswers(400, 401, 403, 413, 422, 429) },
      },
      serializerCompiler: plainJson,
    },
    async (request, reply) => {
      const { admin, body } = request
      const email = requireEmail(body.email ?? '')
      const data = requireMetadata(deps.config, body.data)
      const context = await readContext(deps, request, reply)
      return viewUser(await inviteUser(deps, { admin, email, data, context }, runWorkAlone), deps.config.compatibility)
    },
  )
}
