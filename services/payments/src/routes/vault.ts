import { checkoutErrors } from '../error-body.ts'
import { type Routes, requireBody } from '../plugins/request-input.ts'
import { refuseInsecure } from '../plugins/secure-transport.ts'
import { tokenizeCard } from '../use-cases/tokenize-card.ts'
import { VAULT_BODY_BYTES_MAX, VaultBody, VaultToken } from '../vault/card-token.ts'

/** Exchanges card data for a token (reference: Vault). */
export const vaultRoutes: Routes = async (app) => {
  app.post(
    '/vault',
    {
      bodyLimit: VAULT_BODY_BYTES_MAX,
      onRequest: refuseInsecure,
      schema: {
        operationId: 'tokenizeCard',
        tags: ['Checkout'],
        summary: 'Tokenize a card number or a security code',
        security: [],
        body: VaultBody,
        response: { 201: VaultToken, ...checkoutErrors() },
      },
    },
    async (request, reply) => {
      const body = requireBody(request)
      reply.code(201)
      return tokenizeCard(app.deps, body)
    },
  )
}
