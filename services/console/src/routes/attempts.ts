import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type Attempt, AttemptsView, attemptChanges, attemptsPage } from '../exceptions/exception-list.ts'
import { ListQuery, pageQuery } from '../pages/list.ts'
import { readWithDecimals, type WithDecimals } from '../pages/money.ts'
import { addChangeRoutes, findById } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import type { Query } from '../service-calls/service-call.ts'

const LIST = '/operator/attempts'
const AttemptParams = z.object({ attemptId: z.string().max(64) })

export const attemptsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/attempts', { schema: { querystring: ListQuery } }, async (request, reply) => {
    const listed = await readAttempts(request, pageQuery(request.query))
    return sendPage(request, reply, attemptsPage(request.query, listed, viewerOf(request)))
  })

  addChangeRoutes(app, '/attempts/:attemptId/:change', {
    params: AttemptParams,
    changeable: attemptChanges,
    read: readAttempt,
  })
}

/** Attempts have no URL of their own. Searches the newest 100 with an unknown outcome, then the oldest. */
async function readAttempt(
  request: FastifyRequest,
  { attemptId }: z.infer<typeof AttemptParams>,
): Promise<WithDecimals<Attempt>> {
  const read = async (order: 'desc' | 'asc') => (await readAttempts(request, { order, limit: 100 })).value
  const { attempts: newest, decimals } = await read('desc')
  const isAmongNewest = newest.some(({ id }) => id === attemptId)
  return { ...findById(isAmongNewest ? newest : (await read('asc')).attempts, attemptId), decimals }
}

function readAttempts(request: FastifyRequest, query: Query) {
  return readWithDecimals(visitOf(request).calls, { path: LIST, schema: AttemptsView, query })
}
