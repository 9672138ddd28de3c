import { z } from 'zod'
import type { AuthDeps } from '../deps.ts'
import { hookFailed } from '../hook-errors.ts'
import type { AccessTokenClaims } from '../sessions/access-token.ts'
import { requireHookAnswer } from './hooks.ts'

/** Claims that a token must still have after the hook (reference: Hooks). */
const claimsSchema = z.looseObject({
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.int(),
  iat: z.int(),
  sub: z.string(),
  email: z.string(),
  phone: z.string(),
  role: z.string(),
  aal: z.string(),
  session_id: z.string(),
  is_anonymous: z.boolean(),
})
const answerSchema = z.object({ claims: claimsSchema })

/**
 * The claims of an access token, as the hook CUSTOM_ACCESS_TOKEN wants them where it is on.
 * @param method how the token was come by: a method of `amr`, or `token_refresh`
 * @throws what the hook refuses with, hookFailed
 */
export async function customiseClaims(
  { hooks }: Pick<AuthDeps, 'hooks'>,
  claims: AccessTokenClaims,
  method: string,
): Promise<{ readonly exp: number }> {
  if (!hooks.isOn('CUSTOM_ACCESS_TOKEN')) return claims
  const payload = { user_id: claims.sub, claims, authentication_method: method }
  const { claims: wanted } = requireHookAnswer(answerSchema, await hooks.call('CUSTOM_ACCESS_TOKEN', payload))
  // What a token may do is the operator's to say; whose it is, is not: a mistake there would sign people in as others.
  if (wanted.sub !== claims.sub || wanted.session_id !== claims.session_id) {
    throw hookFailed({ cause: new Error('the hook names another user or session') })
  }
  return wanted
}
