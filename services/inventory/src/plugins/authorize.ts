import type { GuardContext } from '@trestle/endpoints/endpoints.ts'
import type { Scope } from '../access/scopes.ts'
import type { TokenVerifier } from '../access/token-verifier.ts'
import { insufficientScope, invalidToken, missingToken } from '../errors.ts'
import { noteOn } from './fastify-request.ts'

/**
 * Lets those in whose token has the scope of the request, before anything of it is read or looked for; everybody where
 * authentication is off.
 * @throws missingToken, invalidToken, insufficientScope
 */
export async function authorize(tokens: TokenVerifier | undefined, { request }: GuardContext): Promise<void> {
  if (tokens === undefined) return
  const token = /^Bearer +([\w.~+/=-]+)$/i.exec(request.header('authorization') ?? '')?.[1]
  if (token === undefined) throw missingToken()
  const identity = await tokens.verify(token)
  if (identity === undefined) throw invalidToken()
  noteOn(request, { actor: identity.actor })
  const needed: Scope = request.method === 'GET' || request.method === 'HEAD' ? 'inventory:read' : 'inventory:write'
  if (!identity.scopes.has(needed)) throw insufficientScope(needed)
  request.identity = identity
}
