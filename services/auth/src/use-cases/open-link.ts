import type { AuthConfig } from '../config.ts'
import { linkFetchedAhead } from '../errors.ts'
import { mayFollow, type VerifyFields } from '../one-time-tokens/verify-request.ts'

/**
 * Decides whether a link is followed at once, or a page asks first (AUTH_MAILER_LINK_MODE), because a mail
 * scanner opens links too. A request that only prefetches the link must not use it up.
 * @throws linkFetchedAhead
 */
export function openLink(
  { config }: { readonly config: AuthConfig },
  {
    fields,
    isPrefetch,
  }: {
    readonly fields: VerifyFields
    /** Whether the client only prefetches what a user may open later. */
    readonly isPrefetch: boolean
  },
): 'ask' | 'follow' {
  if (config.mail.linkMode === 'confirm' && mayFollow(fields, config.signup.pkce)) return 'ask'
  if (isPrefetch) throw linkFetchedAhead()
  return 'follow'
}
