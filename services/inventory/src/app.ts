import { apiDocuments } from '@trestle/common/server/api-documents.ts'
import { createServer, type Server } from '@trestle/common/server/create-server.ts'
import { readyRoute } from '@trestle/common/server/readiness.ts'
import { httpTelemetry } from '@trestle/common/telemetry/http-telemetry.ts'
import { homeController } from './controllers/home.ts'
import { productsController } from './controllers/products.ts'
import { usersController } from './controllers/users.ts'
import type { InventoryDeps } from './deps.ts'
import { errorVocabulary } from './error-vocabulary.ts'
import { serviceUnavailable } from './errors.ts'
import { requestBodies } from './plugins/request-bodies.ts'
import { RESPONSE_HEADERS, responseHeaders } from './plugins/response-headers.ts'
import { urlRules } from './plugins/url-rules.ts'
import { serviceVersion } from './version.ts'

const HANDLER_TIMEOUT_MS = 15_000

/** The HTTP side of the inventory: every plugin and route, not yet listening. */
export async function buildApp(deps: InventoryDeps): Promise<Server> {
  const { config, log, metrics, tracing, readiness } = deps
  const app = createServer({
    logger: log.logger,
    vocabulary: errorVocabulary,
    requestIdHeader: 'x-request-id',
    requestIdPattern: /^[A-Za-z0-9._-]{1,64}$/,
    bodyLimit: config.maxBodyBytes,
    handlerTimeoutMs: HANDLER_TIMEOUT_MS,
    trustProxy: config.trustProxy,
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    brokenRequestHeaders: () => RESPONSE_HEADERS,
  })
  app.decorate('deps', deps)
  await tracing.instrument(app)
  await app.register(responseHeaders)
  await app.register(urlRules)
  await app.register(requestBodies)
  await app.register(httpTelemetry, { meter: metrics.meter })
  if (config.docsEnabled) {
    await app.register(apiDocuments, {
      title: 'Trestle inventory',
      version: serviceVersion,
      description: 'Products with free-form attributes, and the users who keep them.',
    })
  }
  await app.register(homeController)
  await app.register(readyRoute, { readiness, unavailable: (message) => serviceUnavailable({ message }) })
  await app.register(usersController)
  await app.register(productsController)
  return app
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly deps: InventoryDeps
  }
}
