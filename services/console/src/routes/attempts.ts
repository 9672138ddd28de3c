import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { attemptChanges } from '../exceptions/exception-changes.ts'
import { attemptsPage } from '../exceptions/exception-list.ts'
import { type Attempt, AttemptsView } from '../exceptions/exception-view.ts'
import { GivenFields } from '../pages/asked-change.ts'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { readWithDecimals, type WithDecimals } from '../pages/money.ts'
import { answerChange, askChange, findById } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import type { Query } from '../service-calls/service-call.ts'

const LIST = '/operator/attempts'
const ChangeParams = z.object({ attemptId: z.string().max(64), change: z.string().max(32) })

/** The list of authorizations without a known outcome, and the question before one is recorded. */
export const attemptsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/attempts', { schema: { querystring: ListQuery } }, async (request, reply) => {
    const listed = await readAttempts(request, pageQuery(request.query))
    return sendPage(request, reply, attemptsPage(request.query, listed, viewerOf(request)))
  })

  app.get(
    '/attempts/:attemptId/:change',
    { schema: { params: ChangeParams, querystring: GivenFields } },
    async (request, reply) => {
      const named = { name: request.params.change, shown: await readAttempt(request, request.params) }
      return askChange(request, reply, attemptChanges, named)
    },
  )

  app.post(
    '/attempts/:attemptId/:change',
    { schema: { params: ChangeParams, body: GivenFields } },
    async (request, reply) => {
      const named = { name: request.params.change, shown: await readAttempt(request, request.params) }
      return answerChange(request, reply, attemptChanges, named)
    },
  )
}

/** Attempts have no address of their own: the newest 100 whose outcome is unknown are looked through, then the oldest. */
async function readAttempt(
  request: FastifyRequest,
  { attemptId }: z.infer<typeof ChangeParams>,
): Promise<WithDecimals<Attempt>> {
  const read = async (order: 'desc' | 'asc') => (await readAttempts(request, { order, limit: 100 })).value
  const { attempts: newest, decimals } = await read('desc')
  const isAmongNewest = newest.some(({ id }) => id === attemptId)
  return { ...findById(isAmongNewest ? newest : (await read('asc')).attempts, attemptId), decimals }
}

function readAttempts(request: FastifyRequest, query: Query) {
  return readWithDecimals(visitOf(request).calls, { path: LIST, schema: AttemptsView, query })
}
