import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { GivenFields } from '../pages/asked-change.ts'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { addChangeRoutes } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { hasId, userChanges } from '../users/user-changes.ts'
import { userPage, usersPage } from '../users/user-pages.ts'
import { MessagesView, ShownUser, UsersView } from '../users/user-view.ts'

/** The largest page that auth returns. */
const MESSAGES_MAX = 100

const UserParams = z.object({ userId: z.string().max(64) })

export const usersRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/users', { schema: { querystring: ListQuery } }, async (request, reply) => {
    const listed = await visitOf(request).calls.read('auth', '/operator/users', UsersView, pageQuery(request.query))
    return sendPage(request, reply, usersPage(request.query, listed, viewerOf(request)))
  })

  app.get('/users/:userId', { schema: { params: UserParams } }, async (request, reply) =>
    sendPage(request, reply, userPage(await readUser(request, request.params), viewerOf(request))),
  )

  addChangeRoutes(app, '/users/:userId/:change', { params: UserParams, changeable: userChanges, read: readWithMessage })
}

async function readUser(request: FastifyRequest, { userId }: z.infer<typeof UserParams>): Promise<ShownUser> {
  const path = `/operator/users/${encodeURIComponent(userId)}`
  return (await visitOf(request).calls.read('auth', path, ShownUser)).value
}

/** Reads a user with a message from the list of all messages. The user's page has only the newest messages. */
async function readWithMessage(
  request: FastifyRequest,
  params: z.infer<typeof UserParams>,
  { message }: GivenFields,
): Promise<ShownUser> {
  const shown = await readUser(request, params)
  if (message === undefined || hasId(shown.messages, message)) return shown
  const query = { user: shown.user.id, limit: MESSAGES_MAX }
  const { messages } = (await visitOf(request).calls.read('auth', '/operator/messages', MessagesView, query)).value
  return { ...shown, messages }
}
