import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { GivenFields } from '../pages/asked-change.ts'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { answerChange, askChange } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { userChanges } from '../users/user-changes.ts'
import { usersPage } from '../users/user-list.ts'
import { userPage } from '../users/user-pages.ts'
import { ShownUser, UsersView } from '../users/user-view.ts'

const UserParams = z.object({ userId: z.string().max(64) })
const ChangeParams = UserParams.extend({ change: z.string().max(32) })

/** The list of users, a user with all that support asks for, and what operators change of one. */
export const usersRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/users', { schema: { querystring: ListQuery } }, async (request, reply) => {
    const listed = await visitOf(request).calls.read('auth', '/operator/users', UsersView, pageQuery(request.query))
    return sendPage(request, reply, usersPage(request.query, listed, viewerOf(request)))
  })

  app.get('/users/:userId', { schema: { params: UserParams } }, async (request, reply) =>
    sendPage(request, reply, userPage(await readUser(request, request.params), viewerOf(request))),
  )

  app.get(
    '/users/:userId/:change',
    { schema: { params: ChangeParams, querystring: GivenFields } },
    async (request, reply) => {
      const named = { name: request.params.change, shown: await readUser(request, request.params) }
      return askChange(request, reply, userChanges, named)
    },
  )

  app.post(
    '/users/:userId/:change',
    { schema: { params: ChangeParams, body: GivenFields } },
    async (request, reply) => {
      const named = { name: request.params.change, shown: await readUser(request, request.params) }
      return answerChange(request, reply, userChanges, named)
    },
  )
}

async function readUser(request: FastifyRequest, { userId }: z.infer<typeof UserParams>): Promise<ShownUser> {
  const path = `/operator/users/${encodeURIComponent(userId)}`
  return (await visitOf(request).calls.read('auth', path, ShownUser)).value
}
