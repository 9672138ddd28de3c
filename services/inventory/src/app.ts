import { createServer, type Server } from '@trestle/common/server/create-server.ts'
import { describeApi, documentPages } from '@trestle/common/server/document-pages.ts'
import { httpTelemetry } from '@trestle/common/telemetry/http-telemetry.ts'
import type { InventoryDeps } from './deps.ts'
import { errorVocabulary } from './error-vocabulary.ts'
import { createEndpoints } from './plugins/mapped-controllers.ts'
import { RESPONSE_HEADERS, responseHeaders } from './plugins/response-headers.ts'

const OPENAPI_MODULE = new URL('openapi.ts', import.meta.url)
const HANDLER_TIMEOUT_MS = 15_000

/** The HTTP side of the inventory: the server, and behind it the controllers; not yet listening. */
export async function buildApp(deps: InventoryDeps): Promise<Server> {
  const { config, log, metrics, tracing } = deps
  const app = createServer({
    logger: log.logger,
    vocabulary: errorVocabulary,
    meter: metrics.meter,
    requestIdHeader: 'x-request-id',
    requestIdPattern: /^[A-Za-z0-9._-]{1,64}$/,
    bodyLimit: config.maxBodyBytes,
    handlerTimeoutMs: HANDLER_TIMEOUT_MS,
    // An import may take longer than any other request to arrive; the deadline of handlers bounds the others.
    requestTimeoutMs: 0,
    trustedProxies: config.trustedProxies,
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    notFound: false,
    brokenRequestHeaders: () => RESPONSE_HEADERS,
  })
  await tracing.instrument(app)
  await app.register(responseHeaders)
  await app.register(httpTelemetry, { meter: metrics.meter })
  const endpoints = createEndpoints(deps)
  if (config.docsEnabled) await app.register(documentPages, { document: () => describeApi(OPENAPI_MODULE) })
  await app.register(endpoints.fastify)
  return app
}
