import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { endpointNotFound } from '../errors.ts'
import { assets } from '../pages/assets.ts'

/** The style and the scripts of pages. */
export const assetsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/assets/:name', { schema: { hide: true, params: z.object({ name: z.string() }) } }, (request, reply) => {
    const asset = assets.get(request.params.name)
    if (!asset) throw endpointNotFound()
    return reply.type(asset.type).send(asset.text)
  })
}
