import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { MerchantView } from '../../merchants/merchant-changes.ts'
import { LinesView, linesPage } from '../../merchants/merchant-pages.ts'
import { ListQuery, pageQuery } from '../../pages/list.ts'
import { readWithDecimals } from '../../pages/money.ts'
import { visitOf } from '../../plugins/operator.ts'
import { sendCsv, sendPage } from '../../plugins/pages.ts'
import type { OperatorCalls } from '../../service-calls/operator-calls.ts'
import type { Query } from '../../service-calls/service-call.ts'

const Params = z.object({ merchantId: z.string().max(64) })

export const linesRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/merchants/:merchantId/lines',
    { schema: { params: Params, querystring: ListQuery } },
    async (request, reply) => {
      const { calls } = visitOf(request)
      const path = `/operator/merchants/${encodeURIComponent(request.params.merchantId)}`
      const { search: _search, ...query } = pageQuery(request.query)
      if (request.query.format === 'csv') {
        const rows = await calls.openCsv('payments', `${path}/lines`, { ...query, limit: undefined })
        return sendCsv(reply, 'lines', rows)
      }
      const { known, listed } = await readLines(calls, path, query)
      return sendPage(request, reply, linesPage(known, request.query, listed))
    },
  )
}

/** @param path the path of the merchant in payments */
async function readLines(calls: Pick<OperatorCalls, 'read'>, path: string, query: Query) {
  const [{ value }, listed] = await Promise.all([
    calls.read('payments', path, MerchantView),
    readWithDecimals(calls, { path: `${path}/lines`, schema: LinesView, query }),
  ])
  return { known: value.merchant, listed }
}
