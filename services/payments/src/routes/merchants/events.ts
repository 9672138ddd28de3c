import { z } from 'zod'
import { requireAccess, valuesOrNull } from '../../access/require-access.ts'
import { errorAnswers } from '../../error-body.ts'
import { NO_PAGE, type PageBounds, pageBounds } from '../../pagination/page-query.ts'
import { TRAIL_ENTRIES } from '../../plugins/concurrency-limits.ts'
import { answerInChunks } from '../../plugins/list-chunks.ts'
import type { Routes } from '../../plugins/read-request.ts'
import { ListQuery, pathId } from '../../requests/fields.ts'
import { listEvents } from '../../webhooks/event-repository.ts'
import { EventView, viewEvent } from '../../webhooks/event-view.ts'

/** Lists the events of a merchant (reference: Events). */
export const merchantEventsRoutes: Routes = async (app) => {
  app.get(
    '/merchants/:merchantId/events',
    {
      config: { entriesOfRow: TRAIL_ENTRIES },
      schema: {
        operationId: 'listEvents',
        tags: ['Webhooks'],
        summary: 'List the events of a merchant of the last 30 days',
        params: z.object({ merchantId: pathId() }),
        querystring: ListQuery,
        response: { 200: z.array(EventView), ...errorAnswers(400, 401, 403, 404) },
      },
    },
    async ({ caller, params: { merchantId }, query: input }, reply) => {
      const query = valuesOrNull(input)
      const test = query?.filter?.test
      const read = async (page: PageBounds) =>
        requireAccess(caller, await listEvents(app.deps.pools, { ...caller, merchantId, test, ...page }), input)
      return answerInChunks(reply, { page: pageBounds(query ?? NO_PAGE), read, view: viewEvent })
    },
  )
}
