import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { AuthDeps } from '../deps.ts'
import { type Admin, checkAdmin, checkFreshAdmin } from '../sessions/admin.ts'
import { readBearer, type TokenUser, toTokenUser } from '../sessions/token-user.ts'

/** Requires the access token of a user in a context. The use case checks that the user still exists. */
export const authenticate = fp(
  async (app: FastifyInstance) => {
    app.decorateRequest('caller')
    app.addHook('onRequest', async (request, reply) => {
      request.caller = readCaller(request.server.deps, request)
      await reply.countForCaller(request.caller.userId)
    })
  },
  { name: 'authenticate' },
)

export function readCaller(
  deps: Pick<AuthDeps, 'config' | 'hooks' | 'now' | 'signingKeys'>,
  { headers }: FastifyRequest,
): TokenUser {
  const { adminRoles, issuer } = deps.config.jwt
  const writesIssuer = deps.hooks.isOn('CUSTOM_ACCESS_TOKEN')
  const rules = { adminRoles, issuer: writesIssuer ? undefined : issuer }
  return toTokenUser(readBearer(deps, headers.authorization), rules)
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The user of the access token. `authenticate` sets it. */
    caller: TokenUser
  }
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Requires the access token of an admin in a context. */
export const requireAdmin = fp(
  async (app: FastifyInstance) => {
    app.decorateRequest('admin')
    app.addHook('onRequest', async (request, reply) => {
      const { deps } = request.server
      request.admin = await checkAdmin(deps, readBearer(deps, request.headers.authorization))
      // Several servers may share a token without a user, so such a token is not counted.
      if (request.admin.userId !== null) await reply.countForCaller(request.admin.userId)
      if (!READS.has(request.method)) await checkFreshAdmin(deps, request.admin)
    })
  },
  { name: 'require-admin' },
)

declare module 'fastify' {
  interface FastifyRequest {
    /** The admin of the access token. `requireAdmin` sets it. */
    admin: Admin
  }
}
