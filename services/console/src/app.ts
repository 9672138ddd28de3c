import { type ParsedUrlQuery, parse } from 'node:querystring'
import formBody from '@fastify/formbody'
import type { DocumentPages } from '@trestle/common/documents/document-pages.ts'
import { createServer, type Server } from '@trestle/common/server/create-server.ts'
import { encodesUtf8 } from '@trestle/common/server/encodes-utf8.ts'
import { httpTelemetry } from '@trestle/common/telemetry/http-telemetry.ts'
import type { ConsoleDeps } from './deps.ts'
import { errorVocabulary } from './error-body.ts'
import { FORM_BYTES_MAX } from './pages/form.ts'
import { browserSession } from './plugins/browser-session.ts'
import { operatorPages } from './plugins/operator.ts'
import { sendErrorPage } from './plugins/pages.ts'
import { appsRoutes } from './routes/apps.ts'
import { assetsRoutes } from './routes/assets.ts'
import { attemptsRoutes } from './routes/attempts.ts'
import { auditRoutes } from './routes/audit.ts'
import { deliveriesRoutes } from './routes/deliveries.ts'
import { disputesRoutes } from './routes/disputes.ts'
import { exceptionsRoutes } from './routes/exceptions.ts'
import { fraudsRoutes } from './routes/frauds.ts'
import { healthRoutes } from './routes/health.ts'
import { homeRoutes } from './routes/home.ts'
import { importsRoutes } from './routes/imports.ts'
import { jobsRoutes } from './routes/jobs.ts'
import { locationDeletionRoutes } from './routes/locations/deletion.ts'
import { newLocationRoutes } from './routes/locations/new.ts'
import { locationsRoutes } from './routes/locations.ts'
import { appKeysRoutes } from './routes/merchants/apps/keys.ts'
import { linesRoutes } from './routes/merchants/lines.ts'
import { merchantsRoutes } from './routes/merchants.ts'
import { messagesRoutes } from './routes/messages.ts'
import { newMovementRoutes } from './routes/movements/new.ts'
import { movementsRoutes } from './routes/movements.ts'
import { batchesRoutes } from './routes/payouts/batches.ts'
import { payoutExportRoutes } from './routes/payouts/export.ts'
import { payoutRunRoutes } from './routes/payouts/run.ts'
import { payoutsRoutes } from './routes/payouts.ts'
import { productDeletionRoutes } from './routes/products/deletion.ts'
import { editProductRoutes } from './routes/products/edit.ts'
import { productExportRoutes } from './routes/products/export.ts'
import { productHistoryRoutes } from './routes/products/history.ts'
import { newProductRoutes } from './routes/products/new.ts'
import { productsRoutes } from './routes/products.ts'
import { readyRoutes } from './routes/ready.ts'
import { registrationRoutes } from './routes/registration.ts'
import { releaseRoutes } from './routes/reservations/release.ts'
import { reservationsRoutes } from './routes/reservations.ts'
import { searchRoutes } from './routes/search.ts'
import { settingsRoutes } from './routes/settings.ts'
import { factorRoutes } from './routes/sign-in/factor.ts'
import { factorsRoutes } from './routes/sign-in/factors.ts'
import { linkRoutes } from './routes/sign-in/link.ts'
import { signInRoutes } from './routes/sign-in.ts'
import { signOutRoutes } from './routes/sign-out.ts'
import { newKeyRoutes } from './routes/signing-keys/new.ts'
import { signingKeysRoutes } from './routes/signing-keys.ts'
import { lowStockRoutes } from './routes/stock/low.ts'
import { stockRoutes } from './routes/stock.ts'
import { transactionsRoutes } from './routes/transactions.ts'
import { inviteRoutes } from './routes/users/invite.ts'
import { newUserRoutes } from './routes/users/new.ts'
import { usersRoutes } from './routes/users.ts'

/** Several times the timeout of a call to a service. */
const HANDLER_TIMEOUT_MS = 30_000
/**
 * No cache may store a page, because it shows data for one operator at one moment. No page of another origin may load an answer.
 * From another port of this host, a browser would send the cookie, and the response time would reveal the result of a search.
 */
const ANSWER_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Builds the server with all pages. It does not listen yet. */
export async function buildApp(deps: ConsoleDeps): Promise<Server> {
  const app = createServer({
    logger: deps.logger,
    vocabulary: errorVocabulary,
    now: deps.now,
    meter: deps.meter,
    requestIdHeader: 'x-request-id',
    requestIdPattern: /^[A-Za-z0-9._-]{1,64}$/,
    bodyLimit: FORM_BYTES_MAX,
    handlerTimeoutMs: HANDLER_TIMEOUT_MS,
    // An upload of products may take long. The handler timeout limits all other requests.
    requestTimeoutMs: 0,
    trustedProxies: deps.config.trustedProxies,
    ignoreTrailingSlash: true,
    notFound: false,
    brokenRequestHeaders: () => ANSWER_HEADERS,
  })
  app.decorate('deps', deps)
  // The console has no OpenAPI document.
  app.decorate<DocumentPages | undefined>('documentPages', undefined)
  await deps.tracing.instrument(app)
  await app.register(httpTelemetry, { meter: deps.meter })
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(ANSWER_HEADERS)
    done()
  })
  // Accept only forms. Another site could send some other types, such as text/plain, without a CORS preflight.
  app.removeAllContentTypeParsers()
  await app.register(formBody, { bodyLimit: FORM_BYTES_MAX, parser: parseForm })
  await app.register(healthRoutes)
  await app.register(readyRoutes)
  await app.register(assetsRoutes)
  await app.register(browserSession)
  app.setNotFoundHandler((request, reply) => sendErrorPage(errorVocabulary.notFound(), request, reply))
  await app.register(pageRoutes)
  return app
}

async function pageRoutes(app: Server): Promise<void> {
  app.setErrorHandler(sendErrorPage)
  app.addHook('onRequest', async ({ url }) => requireUtf8(url))
  await app.register(signInRoutes)
  await app.register(factorRoutes)
  await app.register(factorsRoutes)
  await app.register(linkRoutes)
  await app.register(signOutRoutes)
  await app.register(operatorRoutes)
}

async function operatorRoutes(app: Server): Promise<void> {
  await app.register(operatorPages)
  await app.register(homeRoutes)
  await app.register(searchRoutes)
  await app.register(usersRoutes)
  await app.register(inviteRoutes)
  await app.register(newUserRoutes)
  await app.register(messagesRoutes)
  await app.register(settingsRoutes)
  await app.register(signingKeysRoutes)
  await app.register(newKeyRoutes)
  await app.register(auditRoutes)
  await app.register(transactionsRoutes)
  await app.register(disputesRoutes)
  await app.register(fraudsRoutes)
  await app.register(payoutsRoutes)
  await app.register(batchesRoutes)
  await app.register(payoutExportRoutes)
  await app.register(payoutRunRoutes)
  await app.register(exceptionsRoutes)
  await app.register(attemptsRoutes)
  await app.register(deliveriesRoutes)
  await app.register(jobsRoutes)
  await app.register(registrationRoutes)
  await app.register(merchantsRoutes)
  await app.register(linesRoutes)
  await app.register(appsRoutes)
  await app.register(appKeysRoutes)
  await app.register(inventoryRoutes)
}

/** Reads a form. @throws requestMalformed if it is not UTF-8. A form encodes a real U+FFFD */
function parseForm(text: string): ParsedUrlQuery {
  requireUtf8(text)
  // The body size is limited already. A limit of fields would drop fields, and the change would delete their values.
  return parse(text, '&', '=', { maxKeys: 0 })
}

function requireUtf8(text: string): void {
  if (text.includes('\uFFFD') || !encodesUtf8(text)) throw errorVocabulary.malformed(undefined)
}

async function inventoryRoutes(app: Server): Promise<void> {
  await app.register(productsRoutes)
  await app.register(newProductRoutes)
  await app.register(editProductRoutes)
  await app.register(productHistoryRoutes)
  await app.register(productDeletionRoutes)
  await app.register(stockRoutes)
  await app.register(lowStockRoutes)
  await app.register(movementsRoutes)
  await app.register(newMovementRoutes)
  await app.register(reservationsRoutes)
  await app.register(releaseRoutes)
  await app.register(locationsRoutes)
  await app.register(newLocationRoutes)
  await app.register(locationDeletionRoutes)
  await app.register(importsRoutes)
  await app.register(productExportRoutes)
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly deps: ConsoleDeps
  }
}
