import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { visitOf } from '../../plugins/operator.ts'

const Query = z.object({ format: z.enum(['csv', 'ndjson']).prefault('csv') })

export const productExportRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/products/export', { schema: { querystring: Query } }, async (request, reply) => {
    const { format } = request.query
    const asked = { format, spreadsheetSafe: format === 'csv' ? true : undefined }
    const { bytes, type, disposition } = await visitOf(request).calls.openFile('inventory', '/products/export', asked)
    reply.liftDeadline()
    return reply.header('content-type', type).header('content-disposition', disposition).send(bytes)
  })
}
