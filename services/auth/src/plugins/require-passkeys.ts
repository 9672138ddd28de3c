import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { passkeysDisabled } from '../errors.ts'

/** Guards a context of passkeys: where they are switched off, no other error of a request is reported. */
export const requirePasskeys = fp(
  async (app: FastifyInstance) => {
    app.addHook('onRequest', (request, _reply, done) => {
      done(request.server.deps.config.webauthn.passkeysEnabled ? undefined : passkeysDisabled())
    })
  },
  { name: 'require-passkeys' },
)
