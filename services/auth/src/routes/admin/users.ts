import { Readable } from 'node:stream'
import { pathOf } from '@trestle/common/telemetry/path-of.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { runWorkAlone } from '../../audit/audit-log.ts'
import type { AuthConfig } from '../../config.ts'
import { errorAnswers } from '../../error-body.ts'
import { cursorLink, formatCursor, type LinkedPage, pageFields, pageHeaders } from '../../pagination/page-query.ts'
import { plainJson } from '../../plugins/answers.ts'
import { readAudience, readContext, readWantedAudience } from '../../plugins/read-context.ts'
import { requireId } from '../../records/ids.ts'
import { upstreamForm } from '../../records/timestamp.ts'
import { idField } from '../../requests/fields.ts'
import { changeUserAsAdmin, deleteUserAsAdmin } from '../../use-cases/change-user-as-admin.ts'
import { createUser } from '../../use-cases/create-user.ts'
import { type ListedUsers, listUsers } from '../../use-cases/list-users.ts'
import {
  ChangedUserBody,
  NewUserBody,
  parseAdminChange,
  parseAdminUser,
  parseUserList,
  readNewUserId,
  type UserListRequest,
} from '../../users/admin-user-request.ts'
import { getManagedProfile, type Profile } from '../../users/profile-repository.ts'
import type { ManagedUser } from '../../users/user-repository.ts'
import { UserView, viewUser } from '../../users/user-view.ts'

const ListQuery = z.object({
  ...pageFields,
  cursor: z.string().optional().meta({
    description:
      'Where the page begins: empty for the first page, then as the header Link gives it. Such pages have no total',
  }),
  filter: z
    .string()
    .optional()
    .meta({ description: 'A part of an email, phone or full name. Up to two characters must be its beginning' }),
  sort: z
    .string()
    .optional()
    .meta({
      enum: ['created_at asc', 'created_at desc'],
      default: 'created_at desc',
      description: 'The order of the list',
    }),
})
const ListAnswer = z.object({ users: z.array(UserView), aud: z.string() })
const UserPath = z.object({ userId: idField })
const DeleteBody = z.object({ should_soft_delete: z.boolean().optional() }).nullish()

const listSchema = {
  operationId: 'listUsers',
  tags: ['Admin'],
  summary: 'List users',
  description: 'Newest first. The header Link leads to the next page.',
  querystring: ListQuery,
  response: { 200: ListAnswer, ...errorAnswers(400, 401, 403) },
}
const createSchema = {
  operationId: 'createUser',
  tags: ['Admin'],
  summary: 'Create a user',
  body: NewUserBody,
  response: { 200: UserView, ...errorAnswers(400, 401, 403, 409, 413, 422) },
}
const createWithIdSchema = {
  ...createSchema,
  operationId: 'createUserWithId',
  summary: 'Create a user with a chosen id',
  params: UserPath,
}
const readSchema = {
  operationId: 'getUserById',
  tags: ['Admin'],
  summary: 'Get a user',
  params: UserPath,
  response: { 200: UserView, ...errorAnswers(401, 403, 404) },
}
const changeSchema = {
  operationId: 'updateUserById',
  tags: ['Admin'],
  summary: 'Change a user',
  params: UserPath,
  body: ChangedUserBody,
  response: { 200: UserView, ...errorAnswers(400, 401, 403, 404, 413, 422) },
}
const deleteSchema = {
  operationId: 'deleteUser',
  tags: ['Admin'],
  summary: 'Delete a user',
  description: 'Deletes the row, or with `should_soft_delete` all that tells who it was.',
  params: UserPath,
  body: DeleteBody,
  response: { 200: z.object({}), ...errorAnswers(400, 401, 403, 404, 413) },
}

export const adminUsersRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const { userListRowsMax: rowsMax, acceptPageZero: zeroIsFirst } = deps.config.compatibility
  const view = (profile: Profile) => viewUser(profile, deps.config.compatibility)

  app.get('/admin/users', { schema: listSchema, serializerCompiler: plainJson }, async (request, reply) => {
    const { query } = request
    const audience = await readAudience(deps, request)
    const list = parseUserList(query, readForm(request.url), { rowsMax, zeroIsFirst })
    const listed = await listUsers(deps, { audience, request: list })
    const { filter, sort } = query
    reply.headers(listHeaders({ path: pathOf(request.url), query: { filter, sort } }, list, listed))
    if (listed.rest === undefined) return { users: listed.users.map(view), aud: audience }
    return sendUsers(reply, writeUsers(deps.config, listed, audience))
  })

  app.post('/admin/users', { schema: createSchema, serializerCompiler: plainJson }, async (request, reply) => {
    const { admin, body } = request
    const id = readNewUserId(undefined, body.id)
    const context = await readContext(deps, request, reply)
    const wanted = parseAdminUser(deps.config, body)
    return view(await createUser(deps, { admin, id, wanted, context }, runWorkAlone))
  })

  const withId = { schema: createWithIdSchema, serializerCompiler: plainJson }
  app.post('/admin/users/:userId', withId, async (request, reply) => {
    const { admin, body, params } = request
    const id = readNewUserId(params.userId, body.id)
    const context = await readContext(deps, request, reply)
    const wanted = parseAdminUser(deps.config, body)
    return view(await createUser(deps, { admin, id, wanted, context }, runWorkAlone))
  })

  app.get('/admin/users/:userId', { schema: readSchema, serializerCompiler: plainJson }, async (request) =>
    view(await getManagedProfile(deps.pools, readManagedUser(request, request.params))),
  )

  app.put('/admin/users/:userId', { schema: changeSchema, serializerCompiler: plainJson }, async (request) => {
    const { admin, body, params, clientAddress } = request
    const managed = readManagedUser(request, params)
    const wanted = parseAdminChange(deps.config, body)
    return view(await changeUserAsAdmin(deps, { ...managed, admin, wanted, ip: clientAddress.ip }, runWorkAlone))
  })

  app.delete('/admin/users/:userId', { schema: deleteSchema }, async (request) => {
    const { admin, body, params, clientAddress } = request
    const managed = readManagedUser(request, params)
    const manner = body?.should_soft_delete ? 'soft' : 'hard'
    await deleteUserAsAdmin(deps, { ...managed, admin, manner, ip: clientAddress.ip }, runWorkAlone)
    return {}
  })
}

function readManagedUser(request: FastifyRequest, { userId }: { readonly userId: string }): ManagedUser {
  return { userId: requireId('user_id', userId), audience: readWantedAudience(request) }
}

/** An empty parameter `cursor` requests the first page by cursors. Elsewhere, an empty parameter counts as absent. */
function readForm(url: string): UserListRequest['form'] {
  return new URL(url, 'http://localhost').searchParams.has('cursor') ? 'cursor' : 'page'
}

/** Sends a list in pieces. Each piece is read after the client has received the previous one. */
async function sendUsers(reply: FastifyReply, pieces: AsyncGenerator<string>): Promise<undefined> {
  reply.liftDeadline()
  reply.type('application/json; charset=utf-8')
  await reply.send(Readable.from(pieces))
  return undefined
}

/** Writes the list in pieces, because a long list would need too much memory. */
async function* writeUsers(
  { compatibility }: Pick<AuthConfig, 'compatibility'>,
  { users, rest }: ListedUsers,
  aud: string,
): AsyncGenerator<string> {
  const toForm = upstreamForm(compatibility) ?? ((user: unknown) => user)
  const writeUser = (profile: Profile) => JSON.stringify(toForm(viewUser(profile, compatibility)))
  const write = (profiles: readonly Profile[]) => profiles.map(writeUser).join(',')
  yield `{"users":[${write(users)}`
  for await (const more of rest ?? []) if (more.length > 0) yield `,${write(more)}`
  yield `],"aud":${JSON.stringify(aud)}}`
}

/** Returns the link to the next page and, in the page form, the length of the list. */
function listHeaders(
  shown: Pick<LinkedPage, 'path' | 'query'>,
  list: UserListRequest,
  { total, next }: ListedUsers,
): Record<string, string> {
  if (list.form === 'page' && total !== undefined) return pageHeaders({ ...shown, ...list, total })
  if (!next) return {}
  const place = { cursor: formatCursor(next), per_page: String(list.perPage) }
  return { link: cursorLink(shown.path, { ...place, ...shown.query }) }
}
