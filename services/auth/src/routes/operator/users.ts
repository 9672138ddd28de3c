import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { operatorListFields, readOperatorPage } from '../../operators/operator-list.ts'
import { sendOperatorPage } from '../../plugins/operator-page.ts'
import { plainJson } from '../../plugins/plain-json.ts'
import { searchUsers } from '../../use-cases/search-users.ts'
import { UserView, viewUser } from '../../users/user-view.ts'

const ListQuery = z.object({
  ...operatorListFields,
  search: z.string().optional().meta({
    description:
      'The beginning of an email, a phone or a full name, an id, or the subject of an identity at a provider',
  }),
})

/** `/operator/users`: the users of every audience, for operators (console reference: Routes of auth). */
export const operatorUsersRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app

  app.get(
    '/operator/users',
    {
      config: { action: 'users.read' },
      serializerCompiler: plainJson,
      schema: {
        operationId: 'listUsersAsOperator',
        tags: ['Operators'],
        summary: 'Find users',
        description: 'Newest first. The header Link leads to the next page.',
        querystring: ListQuery,
        response: { 200: z.object({ users: z.array(UserView) }), ...errorAnswers(400, 401, 404) },
      },
    },
    async ({ query }, reply) => {
      const page = readOperatorPage('users', query)
      const rows = await searchUsers(deps, { ...page, search: query.search })
      const shown = sendOperatorPage(reply, page, { rows, placeOf: ({ user }) => user })
      return { users: shown.map((profile) => viewUser(profile)) }
    },
  )
}
