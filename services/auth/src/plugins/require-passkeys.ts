import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { passkeysDisabled } from '../errors.ts'

/** For contexts of passkeys: where they are off, nothing else of a request is looked at. */
export const requirePasskeys = fp(
  async (app: FastifyInstance) => {
    app.addHook('onRequest', (request, _reply, done) => {
      done(request.server.deps.config.webauthn.passkeysEnabled ? undefined : passkeysDisabled())
    })
  },
  { name: 'require-passkeys' },
)
