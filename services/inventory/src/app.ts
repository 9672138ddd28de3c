import { createDocumentPages, readApiDocument } from '@trestle/common/documents/document-pages.ts'
import { createServer, type Server } from '@trestle/common/server/create-server.ts'
import { httpTelemetry } from '@trestle/common/telemetry/http-telemetry.ts'
import type { EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import fp from 'fastify-plugin'
import type { InventoryDeps } from './deps.ts'
import { errorVocabulary } from './error-body.ts'
import { withoutTokens } from './openapi.ts'
import { fastifyRequestOf } from './plugins/fastify-request.ts'
import { createEndpoints, refusalOfMethod } from './plugins/mapped-controllers.ts'

/** The document of the controllers. `pnpm openapi` writes it. */
const API_DOCUMENT = new URL('../../../docs/openapi/inventory.json', import.meta.url)
/** Headers of every answer, even without a route. A route may set them to other values. */
const RESPONSE_HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' } as const

/** Builds the server with its controllers. It does not listen yet. */
export async function buildApp(deps: InventoryDeps): Promise<Server> {
  const { config, logger, meter, tracing, timeouts } = deps
  const app = createServer({
    logger,
    vocabulary: errorVocabulary,
    now: deps.now,
    meter,
    requestIdHeader: 'x-request-id',
    requestIdPattern: /^[A-Za-z0-9._-]{1,64}$/,
    bodyLimit: config.bodyBytesMax,
    handlerTimeoutMs: timeouts.handlerTimeoutMs,
    // An import may take long to arrive. The timeout of handlers bounds all other requests.
    requestTimeoutMs: 0,
    trustedProxies: config.server.trustedProxies,
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    notFound: false,
    brokenRequestHeaders: () => RESPONSE_HEADERS,
  })
  app.decorate(
    'documentPages',
    config.server.docsEnabled ? createDocumentPages('Trestle inventory', () => readDocumentFor(deps)) : undefined,
  )
  await tracing.instrument(app)
  await app.register(responseHeaders)
  await app.register(httpTelemetry, { meter })
  const endpoints = createEndpoints(deps).on('request', nameRoute)
  // Fastify refuses QUERY without a media type before it looks for a route, so the method is looked at first.
  app.addHook('onRequest', (request, _reply, done) => done(refusalOfMethod(endpoints, request)))
  await app.register(endpoints.fastify)
  return app
}

/** The API document, without tokens if the service checks none. */
async function readDocumentFor({ tokenVerifier }: Pick<InventoryDeps, 'tokenVerifier'>): Promise<Buffer> {
  const text = await readApiDocument(API_DOCUMENT)
  return tokenVerifier === undefined ? withoutTokens(text) : text
}

const responseHeaders = fp(
  async (app) => {
    app.addHook('onRequest', (_request, reply, done) => {
      reply.headers(RESPONSE_HEADERS)
      done()
    })
    app.addHook('onResponse', (request, reply, done) => {
      request.logFields = { bytes: Number(reply.getHeader('content-length') ?? 0), ...request.logFields }
      done()
    })
  },
  { name: 'response-headers' },
)

/** Names the route by its pattern in logs, metrics and traces. The server itself has one wildcard route. */
function nameRoute(request: EndpointRequest): void {
  const { pattern, positionals = [] } = request.route ?? {}
  // A function, because only traces ask for the parameters.
  fastifyRequestOf(request).mappedRoute = { pattern, params: () => paramsOf(pattern, positionals) }
}

function paramsOf(pattern: string | undefined, positionals: readonly string[]): Record<string, string> {
  const names = pattern?.match(/(?<=\{)\w+(?=\})/g) ?? []
  return Object.fromEntries(names.map((name, i) => [name, positionals[i] ?? '']))
}
