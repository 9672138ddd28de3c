import { checkoutErrors } from '../error-body.ts'
import { type Routes, requireValues } from '../plugins/read-request.ts'
import { refuseInsecure } from '../plugins/secure-transport.ts'
import { tokenizeCard, VAULT_BODY_BYTES_MAX, VaultBody, VaultToken } from '../vault/card-token.ts'

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
        description:
          'The `type` of a card number is `pcn`, and its token is good for 24 hours. The `type` of a security code is `pcsc`, and ' +
          'its token is good for 60 minutes. A token belongs to the merchant that uses it first. A successful payment spends ' +
          'the tokens of its order; challenges and refusals do not. Nothing is stored, and check digits are judged when the ' +
          'token is used.',
        security: [],
        body: VaultBody,
        response: { 201: VaultToken, ...checkoutErrors() },
      },
    },
    async (request, reply) => {
      const body = requireValues(request.body)
      reply.code(201)
      return tokenizeCard(app.deps, body)
    },
  )
}
