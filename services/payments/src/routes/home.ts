import { renderServicePage, wantsPage } from '@trestle/common/documents/front-page.ts'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { checkoutErrors, pageAnswers, pageOrErrorAnswers } from '../error-body.ts'
import { type Routes, requireEndpoint, requireValues } from '../plugins/read-request.ts'
import { refuseInsecure } from '../plugins/secure-transport.ts'
import { tokenizeCard, VAULT_BODY_BYTES_MAX, VaultBody, VaultToken } from '../vault/card-token.ts'
import { showLink } from './pos.ts'

const frontPage = renderServicePage({
  title: 'Trestle payments',
  about: 'Card payments with 3-D Secure, captures, refunds, disputes and payouts on a double-entry ledger.',
  readme: 'services/payments/README.md',
})

/** Serves the vault at the root of the host PAYMENTS_VAULT_HOST, to which official clients post (reference: Checkout). */
export const vaultHostRoutes: Routes = async (app) => {
  const { vaultHost } = app.deps.config.checkout
  if (vaultHost === undefined) return
  const schema = {
    operationId: 'tokenizeCardAtVaultHost',
    tags: ['Checkout'],
    summary: 'Tokenize a card number or a security code at the host of the vault',
    description: 'Exists at the host of PAYMENTS_VAULT_HOST alone. At other hosts it is 404, whatever was sent.',
    security: [],
    body: VaultBody,
    response: { 201: VaultToken, ...checkoutErrors(404) },
  }
  const options = { ...atHost(vaultHost), bodyLimit: VAULT_BODY_BYTES_MAX, onRequest: refuseInsecure, schema }
  app.post('/', options, async (request, reply) =>
    reply.code(201).send(tokenizeCard(app.deps, requireValues(request.body))),
  )
}

interface HomeOptions {
  /** The host of PAYMENTS_POS_URL. If `undefined`, `GET /` is registered for all other hosts. */
  readonly linkHost: string | undefined
}

/**
 * `GET /`: the page that a browser shows at the address of the service. At the host of payment links it also serves the payment
 * page (reference: Payment links).
 */
export const homeRoutes: FastifyPluginAsync<HomeOptions> = async (app, { linkHost }) => {
  const schema = {
    operationId: 'showRoot',
    tags: ['Pages'],
    summary: 'Show the links of the service, or a payment page at the host of payment links',
    description:
      'At the host of PAYMENTS_POS_URL this is the page of a payment link. A browser that sends no query there sees a page with links. At other hosts a browser sees the page with links whatever its query is, and any other client gets 404. The page with links exists while PAYMENTS_DOCS_ENABLED is true.',
    security: [],
    response: { ...pageAnswers(200, 400), ...pageOrErrorAnswers(404, 500, 503) },
  }
  // The API document allows only one operation per path and method, so hide the second route.
  const options = linkHost === undefined ? { schema } : { ...atHost(linkHost), schema: { ...schema, hide: true } }
  app.get('/', options, async (request, reply) => {
    const isLink = linkHost !== undefined && request.url.includes('?')
    if (!isLink) reply.header('vary', 'accept')
    if (asksForFrontPage(request) && !isLink) return reply.headers(frontPage.headers).send(frontPage.html)
    requireEndpoint(linkHost)
    return showLink(request, reply)
  })
}

/** Returns whether a browser gets the front page: the documents are enabled and the client prefers a page. */
function asksForFrontPage({ server, headers }: FastifyRequest): boolean {
  return server.documentPages !== undefined && wantsPage(headers.accept)
}

/** Returns the options of a route that exists only at one host, with any port. */
function atHost(host: string) {
  return { constraints: { host: new RegExp(`^${host.replaceAll('.', '\\.')}(:\\d+)?$`, 'i') } }
}
