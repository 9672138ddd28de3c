import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Admin } from '../sessions/admin.ts'
import { readBearer } from '../sessions/caller.ts'
import { admitAdmin, admitChange } from '../use-cases/admit-admin.ts'

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Guards a context: every request needs the bearer of an admin. */
export const requireAdmin = fp(
  async (app: FastifyInstance) => {
    app.decorateRequest('admin')
    app.addHook('onRequest', async (request) => {
      const { deps } = request.server
      request.admin = await admitAdmin(deps, readBearer(deps, request.headers.authorization))
      if (!READS.has(request.method)) await admitChange(deps, request.admin)
    })
  },
  { name: 'require-admin' },
)

declare module 'fastify' {
  interface FastifyRequest {
    /** The admin of the bearer. Set in contexts that `requireAdmin` guards. */
    admin: Admin
  }
}
