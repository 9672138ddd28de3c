import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ListQuery, pageQuery } from '../../pages/list.ts'
import { readWithDecimals } from '../../pages/money.ts'
import { BankFiles, BatchesView } from '../../payouts/payout-changes.ts'
import { batchesPage } from '../../payouts/payout-pages.ts'
import { FormBody } from '../../plugins/browser-session.ts'
import { viewerOf, visitOf } from '../../plugins/operator.ts'
import { sendFile, sendPage } from '../../plugins/pages.ts'
import { refuseMissing } from '../../service-calls/service-call.ts'

const BatchParams = z.object({ batchId: z.string().max(64) })
const FileBody = FormBody.extend({ kind: z.enum(['xml', 'csv']) })

export const batchesRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/payouts/batches', { schema: { querystring: ListQuery } }, async (request, reply) => {
    const { calls, form: proof } = visitOf(request)
    const query = pageQuery(request.query)
    const listed = await readWithDecimals(calls, { path: '/operator/payouts/batches', schema: BatchesView, query })
    return sendPage(request, reply, batchesPage(request.query, listed, { viewer: viewerOf(request), proof }))
  })

  // Use a form instead of a link, because payments records each download in its audit log.
  app.post('/payouts/batches/:batchId', { schema: { params: BatchParams, body: FileBody } }, async (request, reply) => {
    const path = `/operator/payouts/batches/${encodeURIComponent(request.params.batchId)}/files`
    const { files } = (await visitOf(request).calls.read('payments', path, BankFiles)).value
    const file = files.find(({ name }) => name.endsWith(`.${request.body.kind}`))
    if (file === undefined) return refuseMissing()
    return sendFile(reply, { ...file, content: Buffer.from(file.content, 'base64') })
  })
}
