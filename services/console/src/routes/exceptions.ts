import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  type Exception,
  ExceptionAnswer,
  ExceptionsQuery,
  ExceptionsView,
  exceptionChanges,
  exceptionsPage,
} from '../exceptions/exception-list.ts'
import { pageQuery } from '../pages/list.ts'
import { readWithDecimals, type WithDecimals } from '../pages/money.ts'
import { addChangeRoutes } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'

const LIST = '/operator/exceptions'
const ExceptionParams = z.object({ merchantId: z.string().max(64), exceptionId: z.string().max(64) })

export const exceptionsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/exceptions', { schema: { querystring: ExceptionsQuery } }, async (request, reply) => {
    const { merchant, open, ...place } = request.query
    const asked = { ...pageQuery(place), merchant, open }
    const listed = await readWithDecimals(visitOf(request).calls, { path: LIST, schema: ExceptionsView, query: asked })
    return sendPage(request, reply, exceptionsPage(request.query, listed, viewerOf(request)))
  })

  addChangeRoutes(app, '/exceptions/:merchantId/:exceptionId/:change', {
    params: ExceptionParams,
    changeable: exceptionChanges,
    read: readException,
  })
}

async function readException(
  request: FastifyRequest,
  { merchantId, exceptionId }: z.infer<typeof ExceptionParams>,
): Promise<WithDecimals<Exception>> {
  const path = `${LIST}/${encodeURIComponent(merchantId)}/${encodeURIComponent(exceptionId)}`
  const { value } = await readWithDecimals(visitOf(request).calls, { path, schema: ExceptionAnswer })
  return { ...value.exception, decimals: value.decimals }
}
