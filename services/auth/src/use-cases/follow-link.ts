import type { AuthDeps } from '../deps.ts'
import { linkFetchedAhead } from '../errors.ts'
import {
  mayFollow,
  type ParsedLink,
  requireLinkToFollow,
  type VerifyFields,
} from '../one-time-tokens/verify-request.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { type SessionView, signNewSession } from '../sessions/session-view.ts'
import { redeemLink } from '../sign-ups/redeem-message.ts'

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

/**
 * What opening a link does: it is followed at once, or a page asks first (AUTH_MAILER_LINK_MODE), because a mail scanner opens links
 * too. A request that only prefetches the link must not use it up.
 * @throws linkFetchedAhead
 */
export function openLink(
  { config }: Pick<AuthDeps, 'config'>,
  { fields, isPrefetch }: { readonly fields: VerifyFields; readonly isPrefetch: boolean },
): 'ask' | 'follow' {
  if (config.mail.linkMode === 'confirm' && mayFollow(fields, config.signup.pkce)) return 'ask'
  if (isPrefetch) throw linkFetchedAhead()
  return 'follow'
}

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
