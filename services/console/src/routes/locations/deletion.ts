import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { answerChange, askChange } from '../../plugins/asked-changes.ts'
import { FormBody } from '../../plugins/browser-session.ts'
import { visitOf } from '../../plugins/operator.ts'
import { RecordId } from '../../service-calls/inventory-answer.ts'
import { locationChanges, type VersionedLocation } from '../../stock/stock-changes.ts'
import { LocationView, locationPath } from '../../stock/stock-view.ts'

const Params = z.object({ locationId: RecordId })

/** Asks before a location is deleted, and deletes it unless it was changed meanwhile. */
export const locationDeletionRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/locations/:locationId/deletion', { schema: { params: Params } }, async (request, reply) => {
    const shown = await readLocation(request, request.params.locationId)
    return askChange(request, reply, locationChanges, { name: 'deletion', shown })
  })

  app.post(
    '/locations/:locationId/deletion',
    { schema: { params: Params, body: FormBody.loose() } },
    async (request, reply) => {
      const shown = await readLocation(request, request.params.locationId)
      return answerChange(request, reply, locationChanges, { name: 'deletion', shown })
    },
  )
}

async function readLocation(request: FastifyRequest, id: number): Promise<VersionedLocation> {
  const { value, etag = '' } = await visitOf(request).calls.read('inventory', locationPath(id), LocationView)
  return { location: value, etag }
}
