import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../../error-body.ts'
import { recordUserChange } from '../../../operators/operator-change-repository.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { readContext } from '../../../plugins/read-context.ts'
import { neededEmailField, needs, requireEmail } from '../../../requests/fields.ts'
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
      const changes = { email, user_metadata: namesOf(metadata) }
      return inviteUser(deps, { admin, email, data, context }, recordUserChange(change, changes, 201))
    }),
  )
}

/** The limits of the names in an audit entry, because a body may contain up to a megabyte of names. */
const NAMES_MAX = 50
const NAME_LENGTH_MAX = 100

/** Returns the names of the members. The audit log does not contain their values, which may be private. */
function namesOf(metadata: Readonly<Record<string, unknown>> | undefined): readonly string[] | undefined {
  return metadata && Object.keys(metadata).slice(0, NAMES_MAX).map(shorten)
}

function shorten(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX).toWellFormed()
}
