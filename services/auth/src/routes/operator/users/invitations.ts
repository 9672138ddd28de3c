import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { recordUserChange } from '../../../operators/operator-change-repository.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { readContext } from '../../../plugins/request-context.ts'
import { neededEmailField, needs } from '../../../requests/documented-fields.ts'
import { requireEmail } from '../../../requests/identifier.ts'
import { inviteUser } from '../../../use-cases/invite-user.ts'
import { Metadata, requireMetadata } from '../../../users/metadata.ts'
import { UserView } from '../../../users/user-view.ts'

const schema = {
  operationId: 'inviteUserAsOperator',
  tags: ['Operators'],
  summary: 'Invite a user by mail',
  body: z
    .object({ email: neededEmailField, redirect_to: z.string().optional(), user_metadata: Metadata.optional() })
    .meta(needs('email')),
  response: { 201: z.object({ user: UserView }), ...errorAnswers(400, 401, 403, 404, 409, 413, 422, 429) },
}

/** `POST /operator/users/invitations`: invites a user, for operators (console reference: Routes of auth). */
export const operatorInvitationsRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const options = { config: { action: 'users.invite', namesFields: true }, schema } as const
  app.post('/operator/users/invitations', options, (request, reply) =>
    answerChange(request, reply, async (change, { admin }) => {
      const { email: written = '', redirect_to: redirectTo, user_metadata: metadata } = request.body
      const email = requireEmail(written)
      const data = requireMetadata(deps.config, metadata)
      const context = await readContext(deps, request, reply, redirectTo)
      return inviteUser(deps, { admin, email, data, context }, recordUserChange(change, { email }, 201))
    }),
  )
}
