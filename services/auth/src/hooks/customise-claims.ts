import { z } from 'zod'
import { hookFailed } from '../errors.ts'
import { requireHookAnswer } from './hook-answer.ts'
import type { Hooks } from './hooks.ts'

/** The claims that a hook cannot change, and when the token expires. */
interface TokenClaims {
  readonly sub: string
  readonly session_id: string
  /** Epoch seconds. */
  readonly exp: number
}

/** The claims that a token must still have after the hook (reference: Hooks). */
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
 * Lets the hook CUSTOM_ACCESS_TOKEN change the claims of an access token, where the hook is on.
 * @param method how the client got the token: a method of `amr`, or `token_refresh`
 * @throws hookFailed, or the error with which the hook refuses
 */
export async function customiseClaims(
  { hooks }: { readonly hooks: Hooks },
  claims: TokenClaims,
  method: string,
): Promise<{ readonly exp: number }> {
  if (!hooks.isOn('CUSTOM_ACCESS_TOKEN')) return claims
  const payload = { user_id: claims.sub, claims, authentication_method: method }
  const { claims: wanted } = requireHookAnswer(answerSchema, await hooks.call('CUSTOM_ACCESS_TOKEN', payload))
  // The operator decides what a token permits, but not whose it is: a mistake there would sign people in as others.
  if (wanted.sub !== claims.sub || wanted.session_id !== claims.session_id) {
    throw hookFailed({ cause: new Error('the hook names another user or session') })
  }
  return wanted
}
