import type { AuthDeps } from '../deps.ts'
import { type ParsedLink, requireLinkToFollow } from '../one-time-tokens/verify-request.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { type SessionView, signNewSession } from '../sessions/session-view.ts'
import { redeemLink } from '../sign-ups/redeem-message.ts'

/** What the link of a mail needs: what its purpose changes, and what begins the session of its user. */
export type FollowLinkDeps = Pick<
  AuthDeps,
  | 'config'
  | 'db'
  | 'names'
  | 'logger'
  | 'now'
  | 'randomBytes'
  | 'passwords'
  | 'jobs'
  | 'outbound'
  | 'hooks'
  | 'signingKeys'
>

/** How a link ends. `other-address-left`: a change of email waits for its other address, and nobody signs in. */
export type FollowedLink =
  | { readonly verdict: 'session'; readonly session: SessionView; readonly type: string }
  | { readonly verdict: 'auth-code'; readonly code: string }
  | { readonly verdict: 'other-address-left' }

/**
 * Uses a link that a browser has followed (reference: GET /verify).
 * @throws linkWithoutPkce, mailTypeUnsupported, and what `redeemLink` and `signNewSession` throw
 */
export async function followLink(
  deps: FollowLinkDeps,
  { link, context }: { readonly link: ParsedLink; readonly context: RequestContext },
): Promise<FollowedLink> {
  const checked = requireLinkToFollow(link, deps.config.signup.pkce)
  const redeemed = await redeemLink(deps, { ...checked, via: { kind: 'redirect' }, context })
  if (redeemed.verdict !== 'session') return redeemed
  const session = await signNewSession(deps, redeemed.session)
  return { verdict: 'session', session, type: redeemed.type ?? link.type }
}
