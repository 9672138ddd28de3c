import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ErrorView } from '../error-vocabulary.ts'
import { userNotFound } from '../errors.ts'
import { NoQuery } from '../http/no-query.ts'
import { PathId } from '../http/path-id.ts'
import { listBody, listEnvelope, recordBody, recordEnvelope, written } from '../list-envelope.ts'
import { cutPage, pageQuery } from '../paging/page-query.ts'
import { findUser, listUsers } from '../users/user-repository.ts'
import { UserView, userJson } from '../users/user-view.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const LIMITS = { defaultLimit: 500, maxLimit: 500 } as const

/** GET /users, GET /users/:userId */
export const usersController: FastifyPluginAsyncZod = async (app) => {
  const { lanes } = app.deps

  app.get(
    '/users',
    {
      schema: {
        summary: 'List users by id',
        tags: ['users'],
        querystring: pageQuery('/users', LIMITS),
        response: { 200: written(listEnvelope(UserView)), 400: ErrorView, 500: ErrorView, 503: ErrorView },
      },
    },
    async (request, reply) => {
      const { limit, cursor } = request.query
      const { rows, link } = cutPage('/users', { ...LIMITS, limit }, await listUsers(lanes, cursor, limit + 1))
      return reply
        .header('link', link)
        .type(JSON_TYPE)
        .send(listBody(rows.map(userJson)))
    },
  )

  app.get(
    '/users/:userId',
    {
      schema: {
        summary: 'Get a user',
        tags: ['users'],
        params: z.object({ userId: PathId }),
        querystring: NoQuery,
        response: {
          200: written(recordEnvelope(UserView, 200)),
          400: ErrorView,
          404: ErrorView,
          500: ErrorView,
          503: ErrorView,
        },
      },
    },
    async (request, reply) => {
      const user = await findUser(lanes, request.params.userId)
      if (!user) throw userNotFound()
      return reply.type(JSON_TYPE).send(recordBody(200, userJson(user)))
    },
  )
}
