import type { VerifiedClaims } from '../access-tokens/access-token.ts'
import { readBearer } from './caller.ts'

/** The claims of the bearer of an endpoint that needs none: undefined when there is none, or it does not verify. */
export function findBearer(
  deps: Parameters<typeof readBearer>[0],
  authorization: string | undefined,
): VerifiedClaims | undefined {
  if (authorization === undefined) return undefined
  try {
    return readBearer(deps, authorization)
  } catch {
    return undefined
  }
}
