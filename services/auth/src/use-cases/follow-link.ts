import type { AuthConfig } from '../config.ts'
import { linkFetchedAhead } from '../errors.ts'
import { codeRedirect, messageRedirect, sessionRedirect } from '../flows/flow-redirect.ts'
import {
  flowOfLink,
  mayFollow,
  type ParsedLink,
  requireLinkToFollow,
  type VerifyFields,
} from '../one-time-tokens/verify-request.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { type SessionView, type SessionViewDeps, signNewSession } from '../sessions/session-view.ts'
import { type RedeemDeps, redeemLink } from '../sign-ups/redeem-message.ts'

export type FollowLinkDeps = RedeemDeps & SessionViewDeps

/** The address to which a link leads the browser, and the session in that address, if there is one. */
interface FollowedLink {
  readonly address: string
  readonly session?: SessionView
}

/** The answer to the first of the two addresses that must confirm an email change. Nobody is signed in. */
export const OTHER_ADDRESS_LEFT = 'Confirmation link accepted. Please proceed to confirm link sent to the other email'

/** Uses a link that a browser follows (reference: GET /verify, Verification redirects). */
export async function followLink(
  deps: FollowLinkDeps,
  { link, context }: { readonly link: ParsedLink; readonly context: RequestContext },
): Promise<FollowedLink> {
  const { redirectTo } = context
  const checked = requireLinkToFollow(link, deps.config.signup.pkce)
  const redeemed = await redeemLink(deps, { ...checked, via: { kind: 'redirect' }, context })
  switch (redeemed.verdict) {
    case 'session': {
      const session = await signNewSession(deps, redeemed.session)
      return { address: sessionRedirect(redirectTo, session, redeemed.type ?? link.type), session }
    }
    case 'auth-code':
      return { address: codeRedirect(redirectTo, redeemed.code) }
    case 'other-address-left':
      return { address: messageRedirect(redirectTo, OTHER_ADDRESS_LEFT, flowOfLink(link)) }
  }
}

/**
 * Decides whether a link is followed directly or after a confirmation page (AUTH_MAILER_LINK_MODE), because mail scanners open
 * links too. A request that only prefetches the link must not use it up.
 */
export function openLink(
  { config }: { readonly config: AuthConfig },
  {
    fields,
    isPrefetch,
  }: {
    readonly fields: VerifyFields
    /** Whether the client prefetches a page that the user may open later. */
    readonly isPrefetch: boolean
  },
): 'ask' | 'follow' {
  if (config.mail.linkMode === 'confirm' && mayFollow(fields, config.signup.pkce)) return 'ask'
  if (isPrefetch) throw linkFetchedAhead()
  return 'follow'
}
