import { z } from 'zod'
import type { AuthDeps } from '../deps.ts'
import type { AccessTokenClaims } from '../sessions/access-token.ts'
import { requireHookAnswer } from './hooks.ts'

/** What a token must still say after the hook (contract 7.14). */
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
  return requireHookAnswer(answerSchema, await hooks.call('CUSTOM_ACCESS_TOKEN', payload)).claims
}
