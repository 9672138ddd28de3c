import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { RunWork } from '../../../audit/audit-log.ts'
import { errorAnswers } from '../../../error-body.ts'
import {
  type OperatorAnswer,
  type OperatorChange,
  recordOperatorChange,
} from '../../../operators/operator-change-repository.ts'
import { answerChange } from '../../../plugins/authenticate-operator.ts'
import { operatorListFields, readOperatorPage, showOperatorPage } from '../../../plugins/operator-list.ts'
import { requireId } from '../../../records/ids.ts'
import { idField } from '../../../requests/fields.ts'
import {
  ListedSessionView,
  listSessionsOfUser,
  viewListedSession,
} from '../../../sessions/listed-session-repository.ts'
import { endSessionsAsAdmin } from '../../../use-cases/end-sessions-as-admin.ts'
import { getManagedProfile } from '../../../users/profile-repository.ts'

const UserPath = z.object({ userId: idField })
const Ended = z.object({ ended: z.int().meta({ description: 'How many sessions have ended' }) })
const changeAnswers = { 200: Ended, ...errorAnswers(400, 401, 403, 404, 409, 413) }

const listSchema = {
  operationId: 'listSessionsAsOperator',
  tags: ['Operators'],
  summary: 'List the sessions of a user',
  params: UserPath,
  querystring: z.object(operatorListFields),
  response: { 200: z.object({ sessions: z.array(ListedSessionView) }), ...errorAnswers(400, 401, 404) },
}
const endAllSchema = {
  operationId: 'endSessions',
  tags: ['Operators'],
  summary: 'End all sessions of a user',
  params: UserPath,
  response: changeAnswers,
}
const endSchema = {
  operationId: 'endSession',
  tags: ['Operators'],
  summary: 'End a session of a user',
  params: z.object({ userId: idField, sessionId: idField }),
  response: changeAnswers,
}

export const operatorSessionsRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app

  app.get(
    '/operator/users/:userId/sessions',
    { config: { action: 'users.read' }, schema: listSchema },
    async (request, reply) => {
      const { params, query } = request
      const page = readOperatorPage('sessions', query)
      const userId = requireId('user_id', params.userId)
      await getManagedProfile(deps.pools, { userId, audience: undefined })
      const rows = await request.withSlots(1, () => listSessionsOfUser(deps.db, { ...page, userId }))
      const placeOf = ({ id, startedAt }: (typeof rows)[number]) => ({ id, createdAt: startedAt })
      return { sessions: showOperatorPage(reply, page, { rows, placeOf }).map(viewListedSession) }
    },
  )

  app.delete(
    '/operator/users/:userId/sessions',
    { config: { action: 'sessions.end' }, schema: endAllSchema },
    (request, reply) =>
      answerChange(request, reply, async (change, by) => {
        const userId = requireId('user_id', request.params.userId)
        return endSessionsAsAdmin(deps, { ...by, userId, sessionId: undefined }, recordEnding(change, userId))
      }),
  )

  app.delete(
    '/operator/users/:userId/sessions/:sessionId',
    { config: { action: 'sessions.end' }, schema: endSchema },
    (request, reply) =>
      answerChange(request, reply, async (change, by) => {
        const userId = requireId('user_id', request.params.userId)
        const sessionId = requireId('session_id', request.params.sessionId)
        return endSessionsAsAdmin(deps, { ...by, userId, sessionId }, recordEnding(change, userId, sessionId))
      }),
  )
}

function recordEnding(change: OperatorChange, id: string, session?: string): RunWork<number, OperatorAnswer> {
  return recordOperatorChange(change, (ended) => {
    return { status: 200, answer: { ended }, object: { kind: 'user', id }, changes: { ended, session } }
  })
}
