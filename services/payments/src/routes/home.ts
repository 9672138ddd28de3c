import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { tokenizeCard } from '../use-cases/tokenize-card.ts'
import { VAULT_BODY_BYTES, VaultBody } from '../vault/vault-body.ts'

/** The vault on a host of its own, where the settings name one: official clients post to its root. @see contract 15 */
export const vaultHostRoutes: FastifyPluginAsyncZod = async (app) => {
  const { vaultHost } = app.deps
  if (vaultHost === undefined) return
  const host = new RegExp(`^${vaultHost.replaceAll('.', '\\.')}(:\\d+)?$`, 'i')
  const options = { bodyLimit: VAULT_BODY_BYTES, constraints: { host }, schema: { hide: true, body: VaultBody } }
  app.post('/', options, ({ body }, reply) => reply.code(201).send(tokenizeCard(app.deps, body)))
}
