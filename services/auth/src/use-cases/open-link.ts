import type { AuthDeps } from '../deps.ts'
import { linkFetchedAhead } from '../errors.ts'
import { isPrefetch, mayFollow, type RequestHeaders, type VerifyFields } from '../one-time-tokens/verify-request.ts'

/**
 * Decides whether a link is followed at once, or a page asks first (AUTH_MAILER_LINK_MODE), because a mail
 * scanner opens links too. A request that only prefetches the link must not use it up.
 * @throws linkFetchedAhead
 */
export function openLink(
  { config }: Pick<AuthDeps, 'config'>,
  { fields, headers }: { readonly fields: VerifyFields; readonly headers: RequestHeaders },
): 'ask' | 'follow' {
  if (config.mail.linkMode === 'confirm' && mayFollow(fields, config.signup.pkce)) return 'ask'
  if (isPrefetch(headers)) throw linkFetchedAhead()
  return 'follow'
}
