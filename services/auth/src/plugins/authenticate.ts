import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { type Caller, readBearer, toCaller } from '../sessions/caller.ts'

/** Guards a context: every request needs the access token of a user. Whether that user still exists, the use case asks. */
export const authenticate = fp(
  async (app: FastifyInstance) => {
    app.decorateRequest('caller')
    app.addHook('onRequest', (request, _reply, done) => {
      const { deps } = request.server
      request.caller = toCaller(readBearer(deps, request.headers.authorization), deps.config.jwt.adminRoles)
      done()
    })
  },
  { name: 'authenticate' },
)

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks. Set in contexts that `authenticate` guards. */
    caller: Caller
  }
}
