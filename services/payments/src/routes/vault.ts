import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { checkoutErrors } from '../error-body.ts'
import { refuseInsecure } from '../plugins/secure-transport.ts'
import { tokenizeCard } from '../use-cases/tokenize-card.ts'
import { VAULT_BODY_BYTES_MAX, VaultBody, VaultToken } from '../vault/card-token.ts'

/** Exchanges card data for a token (reference: Vault). */
export const vaultRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/vault',
    {
      bodyLimit: VAULT_BODY_BYTES_MAX,
      onRequest: refuseInsecure,
      schema: {
        summary: 'Tokenise a card number or a security code',
        security: [],
        body: VaultBody,
        response: { 201: VaultToken, ...checkoutErrors() },
      },
    },
    async ({ body }, reply) => {
      reply.code(201)
      return tokenizeCard(app.deps, body)
    },
  )
}
