import { wantsPage } from '@trestle/common/documents/front-page.ts'
import type { FastifyRequest } from 'fastify'
import { checkoutErrors, pageAnswers } from '../error-body.ts'
import { type Routes, requireBody } from '../plugins/request-input.ts'
import { refuseInsecure } from '../plugins/secure-transport.ts'
import { tokenizeCard } from '../use-cases/tokenize-card.ts'
import { VAULT_BODY_BYTES_MAX, VaultBody, VaultToken } from '../vault/card-token.ts'
import { showLink } from './pos.ts'

/** The vault, at the root of the host of PAYMENTS_VAULT_HOST, where official clients post (reference: Checkout). */
export const vaultHostRoutes: Routes = async (app) => {
  const { vaultHost } = app.deps
  if (vaultHost === undefined) return
  const constraints = { host: hostPattern(vaultHost) }
  const schema = {
    operationId: 'tokenizeCardAtVaultHost',
    tags: ['Checkout'],
    summary: 'Tokenise a card number or a security code at the host of the vault',
    security: [],
    body: VaultBody,
    response: { 201: VaultToken, ...checkoutErrors(404) },
  }
  const options = { bodyLimit: VAULT_BODY_BYTES_MAX, onRequest: refuseInsecure, constraints, schema }
  app.post('/', options, async (request, reply) => reply.code(201).send(tokenizeCard(app.deps, requireBody(request))))
}

/** The payment page, at the root of the host of PAYMENTS_POS_URL (reference: Payment links). */
export const posHostRoutes: Routes = async (app) => {
  const { posHost } = app.deps
  if (posHost === undefined) return
  const options = {
    constraints: { host: hostPattern(posHost) },
    schema: {
      operationId: 'showRoot',
      tags: ['Pages'],
      summary: 'Show the links of the service, or a payment page at the host of payment links',
      security: [],
      response: { ...pageAnswers(200, 400, 404, 429, 500, 503) },
    },
  }
  app.get('/', options, (request, reply) =>
    app.documentPages !== undefined && isVisit(request) ? reply.callNotFound() : showLink(request, reply),
  )
}

/** Whether a browser has opened the address alone, without the query of a link: it is shown the front page. */
function isVisit({ url, headers }: FastifyRequest): boolean {
  return !url.includes('?') && wantsPage(headers.accept)
}

/** A host with any port. */
function hostPattern(host: string): RegExp {
  return new RegExp(`^${host.replaceAll('.', '\\.')}(:\\d+)?$`, 'i')
}
