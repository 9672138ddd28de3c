import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { addChangeRoutes } from '../../plugins/asked-changes.ts'
import { visitOf } from '../../plugins/operator.ts'
import { RecordId } from '../../service-calls/operator-calls.ts'
import { locationChanges, type VersionedLocation } from '../../stock/stock-forms.ts'
import { LocationView, locationPath } from '../../stock/stock-view.ts'

const Params = z.object({ locationId: RecordId })

/** Deletes a location after confirmation, unless it has changed since. */
export const locationDeletionRoutes: FastifyPluginAsyncZod = async (app) => {
  addChangeRoutes(app, '/locations/:locationId/deletion', {
    params: Params,
    changeable: locationChanges,
    read: readLocation,
  })
}

async function readLocation(
  request: FastifyRequest,
  { locationId }: z.infer<typeof Params>,
): Promise<VersionedLocation> {
  const { value, etag = '' } = await visitOf(request).calls.read('inventory', locationPath(locationId), LocationView)
  return { location: value, etag }
}
