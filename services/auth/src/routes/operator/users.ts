import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { recordOperatorChange, recordUserChange, requireAnother } from '../../operators/operator-change-repository.ts'
import { plainJson } from '../../plugins/answers.ts'
import { answerChange } from '../../plugins/authenticate-operator.ts'
import { operatorListFields, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'
import { readContext } from '../../plugins/read-context.ts'
import { requireId } from '../../records/ids.ts'
import { idField } from '../../requests/fields.ts'
import { changeUserAsAdmin, deleteUserAsAdmin } from '../../use-cases/change-user-as-admin.ts'
import { createUser } from '../../use-cases/create-user.ts'
import { searchUsers } from '../../use-cases/list-users.ts'
import { showUserForOperator, UserForOperatorView } from '../../use-cases/operator/show-user.ts'
import {
  ChangedUserByOperatorBody,
  NewUserByOperatorBody,
  parseAdminUser,
  readNewUserId,
} from '../../users/admin-user-request.ts'
import { ListedUserView, UserView, viewListedUser } from '../../users/user-view.ts'

const ListQuery = z.object({
  ...operatorListFields,
  // PostgreSQL would take too long to split a longer text into the parts that the index contains.
  search: z.string().max(255).optional().meta({
    description:
      'The beginning of an email, a phone or a full name, an id, or the subject of an identity at a provider',
  }),
})

const UserPath = z.object({ userId: idField })
const UserAnswer = z.object({ user: UserView })
const DeleteQuery = z.object({
  soft: z
    .enum(['true', 'false'])
    .default('true')
    .meta({ description: 'Whether the row is kept, without what identifies the user' }),
})

const listSchema = {
  operationId: 'listUsersAsOperator',
  tags: ['Operators'],
  summary: 'Find users',
  description:
    'Newest first. The header Link leads to the next page. Metadata and claims of identities are in the record of one user.',
  querystring: ListQuery,
  response: { 200: z.object({ users: z.array(ListedUserView) }), ...errorAnswers(400, 401, 404) },
}
const readSchema = {
  operationId: 'getUserAsOperator',
  tags: ['Operators'],
  summary: 'Read a user, and why they cannot sign in',
  params: UserPath,
  response: { 200: UserForOperatorView, ...errorAnswers(401, 404) },
}
const createSchema = {
  operationId: 'createUserAsOperator',
  tags: ['Operators'],
  summary: 'Create a user',
  body: NewUserByOperatorBody,
  response: { 201: UserAnswer, ...errorAnswers(400, 401, 403, 404, 409, 413, 422) },
}
const changeSchema = {
  operationId: 'updateUserAsOperator',
  tags: ['Operators'],
  summary: 'Change the email, the phone or the password of a user',
  params: UserPath,
  body: ChangedUserByOperatorBody,
  response: { 200: UserAnswer, ...errorAnswers(400, 401, 403, 404, 409, 413, 422) },
}
const deleteSchema = {
  operationId: 'deleteUserAsOperator',
  tags: ['Operators'],
  summary: 'Delete a user',
  params: UserPath,
  querystring: DeleteQuery,
  response: { 200: z.object({}), ...errorAnswers(400, 401, 403, 404, 409, 413) },
}

export const operatorUsersRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const read = { config: { action: 'users.read' }, serializerCompiler: plainJson } as const

  app.get('/operator/users', { ...read, schema: listSchema }, async (request, reply) => {
    const { query } = request
    const page = readOperatorPage('users', query)
    const rows = await request.withSlots(1, () => searchUsers(deps, { ...page, search: query.search }))
    const shown = showOperatorPage(reply, page, { rows, placeOf: ({ user }) => user })
    return { users: shown.map((profile) => viewListedUser(profile)) }
  })

  const creates = { config: { action: 'users.create', namesFields: true }, schema: createSchema } as const
  app.post('/operator/users', creates, (request, reply) =>
    answerChange(request, reply, async (change, { admin }) => {
      const { body } = request
      const context = await readContext(deps, request, reply)
      const wanted = parseAdminUser(deps.config, body)
      const id = readNewUserId(undefined, body.id)
      return createUser(deps, { admin, id, wanted, context }, recordUserChange(change, addressesOf(body), 201))
    }),
  )

  app.get('/operator/users/:userId', { ...read, schema: readSchema }, (request) => {
    const userId = requireId('user_id', request.params.userId)
    return request.withSlots(1, () => showUserForOperator(deps, userId))
  })

  const changesUser = { config: { action: 'users.change', namesFields: true }, schema: changeSchema } as const
  app.put('/operator/users/:userId', changesUser, (request, reply) =>
    answerChange(request, reply, async (change, by) => {
      const userId = requireId('user_id', request.params.userId)
      const wanted = parseAdminUser(deps.config, request.body)
      const changes = { ...addressesOf(request.body), password: request.body.password ? 'changed' : undefined }
      return changeUserAsAdmin(deps, { ...by, userId, wanted }, recordUserChange(change, changes))
    }),
  )

  app.delete(
    '/operator/users/:userId',
    { config: { action: 'users.delete' }, schema: deleteSchema },
    (request, reply) =>
      answerChange(request, reply, async (change, by) => {
        const userId = requireId('user_id', request.params.userId)
        requireAnother(change, userId)
        const manner = request.query.soft === 'true' ? 'soft' : 'hard'
        const runWork = recordOperatorChange<void>(change, () => deletedUser(userId, manner))
        return deleteUserAsAdmin(deps, { ...by, userId, manner }, runWork)
      }),
  )
}

function deletedUser(id: string, manner: 'soft' | 'hard') {
  return { status: 200, answer: {}, object: { kind: 'user', id }, changes: { manner } } as const
}

/** The addresses in a body, for the audit log. */
function addressesOf({
  email,
  phone,
}: {
  readonly email?: string | undefined
  readonly phone?: string | undefined
}): object {
  return { email: email || undefined, phone: phone || undefined }
}
