import { concurrencyLimit } from '@trestle/common/capacity/concurrency-limit.ts'
import { apiDocuments } from '@trestle/common/documents/api-documents.ts'
import { createServer, type Server } from '@trestle/common/server/create-server.ts'
import { httpTelemetry } from '@trestle/common/telemetry/http-telemetry.ts'
import { OPERATOR_SCHEMES } from '@trestle/operators/operator-routes.ts'
import type { PaymentsDeps } from './deps.ts'
import { errorVocabulary } from './error-body.ts'
import { ANSWER_HEADERS, answers } from './plugins/answers.ts'
import { authenticate, KEY_SCHEMES } from './plugins/authenticate.ts'
import { authenticateOperator } from './plugins/authenticate-operator.ts'
import { checkout } from './plugins/checkout.ts'
import { MEMBER_LIMIT, OPERATOR_LIMIT } from './plugins/concurrency-limits.ts'
import { idempotencyKey } from './plugins/idempotency-key.ts'
import { linkPages } from './plugins/link-pages.ts'
import { readRequest } from './plugins/read-request.ts'
import { bankRoutes } from './routes/acs/challenge.ts'
import { fingerprintRoutes } from './routes/acs/fingerprint.ts'
import { appsRoutes } from './routes/apps.ts'
import { assetsRoutes } from './routes/assets.ts'
import { cardsRoutes } from './routes/cards.ts'
import { disputesRoutes } from './routes/disputes.ts'
import { docsScriptRoutes } from './routes/docs/js/scalar.js.ts'
import { docsRoutes } from './routes/docs.ts'
import { fraudsRoutes } from './routes/frauds.ts'
import { healthRoutes } from './routes/health.ts'
import { homeRoutes, vaultHostRoutes } from './routes/home.ts'
import { identityMerchantsRoutes } from './routes/identities/merchants.ts'
import { invitationsRoutes } from './routes/invitations.ts'
import { linesRoutes } from './routes/lines.ts'
import { keysRoutes } from './routes/me/keys.ts'
import { meRoutes } from './routes/me.ts'
import { merchantAppsRoutes } from './routes/merchants/apps.ts'
import { merchantCardsRoutes } from './routes/merchants/cards.ts'
import { merchantEventsRoutes } from './routes/merchants/events.ts'
import { merchantLinesRoutes } from './routes/merchants/lines.ts'
import { merchantPayoutsRoutes } from './routes/merchants/payouts.ts'
import { statementRoutes } from './routes/merchants/statement.csv.ts'
import { merchantTransactionsRoutes } from './routes/merchants/transactions.ts'
import { merchantUsersRoutes } from './routes/merchants/users.ts'
import { webhookSecretsRoutes } from './routes/merchants/webhooks/secrets.ts'
import { merchantWebhooksRoutes } from './routes/merchants/webhooks.ts'
import { merchantsRoutes } from './routes/merchants.ts'
import { openapiRoutes } from './routes/openapi.json.ts'
import { operatorAppKeysRoutes } from './routes/operator/apps/keys.ts'
import { operatorAppsRoutes } from './routes/operator/apps.ts'
import { operatorAttemptOutcomeRoutes } from './routes/operator/attempts/outcome.ts'
import { operatorAttemptsRoutes } from './routes/operator/attempts.ts'
import { operatorAuditRoutes } from './routes/operator/audit.ts'
import { operatorCurrenciesRoutes } from './routes/operator/currencies.ts'
import { operatorReplayRoutes } from './routes/operator/deliveries/replay.ts'
import { operatorDeliveriesRoutes } from './routes/operator/deliveries.ts'
import { operatorDisputeOutcomeRoutes } from './routes/operator/disputes/outcome.ts'
import { operatorDisputesRoutes } from './routes/operator/disputes.ts'
import { operatorResolutionRoutes } from './routes/operator/exceptions/resolution.ts'
import { operatorExceptionsRoutes } from './routes/operator/exceptions.ts'
import { operatorFraudsRoutes } from './routes/operator/frauds.ts'
import { operatorMeRoutes } from './routes/operator/me.ts'
import { operatorClockRoutes } from './routes/operator/merchants/clock.ts'
import { operatorEventsRoutes } from './routes/operator/merchants/events.ts'
import { operatorLinesRoutes } from './routes/operator/merchants/lines.ts'
import { operatorPricingRoutes } from './routes/operator/merchants/pricing.ts'
import { operatorMerchantsRoutes } from './routes/operator/merchants.ts'
import { operatorOverviewRoutes } from './routes/operator/overview.ts'
import { operatorBankFilesRoutes } from './routes/operator/payouts/batches/files.ts'
import { operatorBatchesRoutes } from './routes/operator/payouts/batches.ts'
import { operatorPayoutOutcomeRoutes } from './routes/operator/payouts/outcome.ts'
import { operatorPayoutRunRoutes } from './routes/operator/payouts/run.ts'
import { operatorPayoutsRoutes } from './routes/operator/payouts.ts'
import { operatorReasonsRoutes } from './routes/operator/reasons.ts'
import { operatorRegistrationRoutes } from './routes/operator/registration.ts'
import { operatorSearchRoutes } from './routes/operator/search.ts'
import { operatorTaskRetryRoutes } from './routes/operator/tasks/retry.ts'
import { operatorTasksRoutes } from './routes/operator/tasks.ts'
import { operatorCapturesRoutes } from './routes/operator/transactions/captures.ts'
import { operatorTransactionDisputesRoutes } from './routes/operator/transactions/disputes.ts'
import { operatorRefundsRoutes } from './routes/operator/transactions/refunds.ts'
import { operatorVoidsRoutes } from './routes/operator/transactions/voids.ts'
import { operatorTransactionsRoutes } from './routes/operator/transactions.ts'
import { challengesRoutes } from './routes/payments/challenges.ts'
import { paymentsRoutes } from './routes/payments.ts'
import { payoutsRoutes } from './routes/payouts.ts'
import { posPayRoutes } from './routes/pos/pay.ts'
import { receiptRoutes } from './routes/pos/receipt.ts'
import { posRoutes } from './routes/pos.ts'
import { readyRoutes } from './routes/ready.ts'
import { testOutcomesRoutes } from './routes/test/disputes/outcomes.ts'
import { testClockRoutes } from './routes/test/merchants/clock.ts'
import { testPayoutsRoutes } from './routes/test/merchants/payouts.ts'
import { testTransactionDisputesRoutes } from './routes/test/transactions/disputes.ts'
import { testTransactionFraudsRoutes } from './routes/test/transactions/frauds.ts'
import { capturesRoutes } from './routes/transactions/captures.ts'
import { refundsRoutes } from './routes/transactions/refunds.ts'
import { voidsRoutes } from './routes/transactions/voids.ts'
import { transactionsRoutes } from './routes/transactions.ts'
import { vaultRoutes } from './routes/vault.ts'
import { VERSION } from './version.ts'

/** The OpenAPI document of the routes below. `pnpm openapi` writes it. */
const API_DOCUMENT = new URL('../../../docs/openapi/payments.json', import.meta.url)
const BODY_BYTES_MAX = 131_072
const HANDLER_TIMEOUT_MS = 30_000

/** Builds the HTTP server of payments with all plugins and routes. The server does not listen yet. */
export async function buildApp(deps: PaymentsDeps, handlerTimeoutMs = HANDLER_TIMEOUT_MS): Promise<Server> {
  const app = createServer({
    logger: deps.logger,
    vocabulary: errorVocabulary,
    now: deps.now,
    meter: deps.meter,
    requestIdHeader: 'x-request-id',
    requestIdPattern: /^[A-Za-z0-9._-]{1,64}$/,
    bodyLimit: BODY_BYTES_MAX,
    handlerTimeoutMs,
    trustedProxies: deps.config.server.trustedProxies,
    ignoreTrailingSlash: true,
    brokenRequestHeaders: () => ANSWER_HEADERS,
  })
  app.decorate('deps', deps)
  await deps.tracing.instrument(app)
  await app.register(httpTelemetry, { meter: deps.meter })
  await app.register(answers)
  await app.register(readRequest)
  await app.register(apiDocuments, {
    title: 'Trestle payments',
    version: VERSION,
    description:
      'Merchants, card payments and a ledger.\n\nThe API key, which `POST /apps` shows once, is the password of Basic authentication. The user name stays empty.',
    file: deps.config.server.docsEnabled ? API_DOCUMENT : undefined,
    securitySchemes: KEY_SCHEMES,
    otherSchemes: OPERATOR_SCHEMES,
  })
  await app.register(appsRoutes)
  await app.register(docsRoutes)
  await app.register(docsScriptRoutes)
  await app.register(healthRoutes)
  await app.register(invitationsRoutes)
  await app.register(openapiRoutes)
  await app.register(readyRoutes)
  await app.register(customerRoutes)
  await app.register(keyedRoutes)
  await app.register(operatorRoutes)
  await app.register(homeRoutes, { linkHost: undefined })
  return app
}

/** Routes that need an API key or the access token of a user. */
async function keyedRoutes(app: Server): Promise<void> {
  await app.register(authenticate)
  await app.register(idempotencyKey)
  await app.register(concurrencyLimit, MEMBER_LIMIT)
  await app.register(cardsRoutes)
  await app.register(disputesRoutes)
  await app.register(fraudsRoutes)
  await app.register(identityMerchantsRoutes)
  await app.register(linesRoutes)
  await app.register(meRoutes)
  await app.register(keysRoutes)
  await app.register(merchantsRoutes)
  await app.register(merchantAppsRoutes)
  await app.register(merchantCardsRoutes)
  await app.register(merchantEventsRoutes)
  await app.register(merchantLinesRoutes)
  await app.register(merchantPayoutsRoutes)
  await app.register(statementRoutes)
  await app.register(merchantTransactionsRoutes)
  await app.register(merchantUsersRoutes)
  await app.register(merchantWebhooksRoutes)
  await app.register(webhookSecretsRoutes)
  await app.register(payoutsRoutes)
  await app.register(testOutcomesRoutes)
  await app.register(testClockRoutes)
  await app.register(testPayoutsRoutes)
  await app.register(testTransactionDisputesRoutes)
  await app.register(testTransactionFraudsRoutes)
  await app.register(transactionsRoutes)
  await app.register(capturesRoutes)
  await app.register(refundsRoutes)
  await app.register(voidsRoutes)
}

/**
 * Routes of operators, who call with an operator key and their access token (console reference: Routes of payments).
 */
async function operatorRoutes(app: Server): Promise<void> {
  await app.register(authenticateOperator)
  await app.register(concurrencyLimit, OPERATOR_LIMIT)
  await app.register(operatorAppsRoutes)
  await app.register(operatorAppKeysRoutes)
  await app.register(operatorAttemptsRoutes)
  await app.register(operatorAttemptOutcomeRoutes)
  await app.register(operatorAuditRoutes)
  await app.register(operatorCurrenciesRoutes)
  await app.register(operatorDeliveriesRoutes)
  await app.register(operatorReplayRoutes)
  await app.register(operatorDisputesRoutes)
  await app.register(operatorDisputeOutcomeRoutes)
  await app.register(operatorExceptionsRoutes)
  await app.register(operatorResolutionRoutes)
  await app.register(operatorFraudsRoutes)
  await app.register(operatorMeRoutes)
  await app.register(operatorMerchantsRoutes)
  await app.register(operatorClockRoutes)
  await app.register(operatorEventsRoutes)
  await app.register(operatorLinesRoutes)
  await app.register(operatorPricingRoutes)
  await app.register(operatorOverviewRoutes)
  await app.register(operatorPayoutsRoutes)
  await app.register(operatorBatchesRoutes)
  await app.register(operatorBankFilesRoutes)
  await app.register(operatorPayoutOutcomeRoutes)
  await app.register(operatorPayoutRunRoutes)
  await app.register(operatorReasonsRoutes)
  await app.register(operatorRegistrationRoutes)
  await app.register(operatorSearchRoutes)
  await app.register(operatorTasksRoutes)
  await app.register(operatorTaskRetryRoutes)
  await app.register(operatorTransactionsRoutes)
  await app.register(operatorCapturesRoutes)
  await app.register(operatorTransactionDisputesRoutes)
  await app.register(operatorRefundsRoutes)
  await app.register(operatorVoidsRoutes)
}

/** Routes of customers and their banks, which need no key. */
async function customerRoutes(app: Server): Promise<void> {
  await app.register(bankRoutes)
  await app.register(fingerprintRoutes)
  await app.register(assetsRoutes)
  await app.register(async (open) => {
    await open.register(checkout)
    await open.register(vaultHostRoutes)
    await open.register(paymentsRoutes)
    await open.register(challengesRoutes)
    await open.register(vaultRoutes)
  })
  const { posHost: linkHost } = app.deps.config.checkout
  await app.register(async (pages) => {
    await pages.register(linkPages)
    if (linkHost !== undefined) await pages.register(homeRoutes, { linkHost })
    await pages.register(posRoutes)
    await pages.register(posPayRoutes)
    await pages.register(receiptRoutes)
  })
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly deps: PaymentsDeps
  }
}
