import type { VerifiedClaims } from '../access-tokens/access-token.ts'
import type { AuthDeps } from '../deps.ts'
import { audienceUnknown } from '../request-errors.ts'
import { isAdmin } from '../sessions/caller.ts'
import { requireAudience } from '../users/audience.ts'
import { checkAdmin } from './check-admin.ts'

/** What a request says about its audience. */
export interface ChooseAudienceInput {
  /** The header X-JWT-AUD. */
  readonly wanted: string | undefined
  /** The claims of the bearer; undefined without a valid one. */
  readonly claims: VerifiedClaims | undefined
}

/**
 * Chooses the audience of a request (reference: Audience): that of the users whom it makes, and among whom it looks users up. Only
 * admins may name an audience that the settings do not list. Anybody else could take an address in an audience where its owner
 * never looks.
 * @throws audienceUnknown, audienceTooLong, and what `checkAdmin` throws
 */
export async function chooseAudience(
  deps: Pick<AuthDeps, 'config' | 'hooks' | 'lanes'>,
  { wanted, claims }: ChooseAudienceInput,
): Promise<string> {
  const { allowedAudiences, audience: usual, adminRoles } = deps.config.jwt
  const isByAdmin = claims !== undefined && isAdmin(claims, adminRoles)
  if (wanted !== undefined) {
    const audience = requireAudience(wanted)
    if (allowedAudiences.has(audience)) return audience
    if (!isByAdmin) throw audienceUnknown()
    // The claims may be those of a former admin.
    await checkAdmin(deps, claims)
    return audience
  }
  // The audience of an admin's token says nothing about users. A hook may have written an audience that the settings do not list.
  const own = isByAdmin ? undefined : claims?.aud
  return typeof own === 'string' && allowedAudiences.has(own) ? own : usual
}
