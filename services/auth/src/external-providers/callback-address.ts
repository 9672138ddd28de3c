import { answerOfOtherProvider } from '../external-errors.ts'
import { type AnyConfiguredProvider, isOAuth1 } from './configured-provider.ts'
import type { OAuth2Provider } from './provider.ts'

/** The address at which a browser came back, and the issuer that its answer names. */
export interface ReturnPlace {
  /** The provider in `/callback/<provider>`. Undefined at `/callback`, which providers share. */
  readonly calledAt: string | undefined
  /** The parameter `iss`. Undefined where the answer has none. */
  readonly iss: string | undefined
}

/** Whether the redirect URI of a provider is its own, `/callback/<provider>`. Otherwise it is `/callback`. */
export function hasOwnCallback({ name, account }: Pick<AnyConfiguredProvider, 'name' | 'account'>): boolean {
  const [, owner] = /\/callback\/([^/]+)\/?$/.exec(new URL(account.redirectUri).pathname) ?? []
  return owner === name || owner === encodeURIComponent(name)
}

/** Whether each answer of a provider names its issuer (RFC 9207). */
export function namesIssuer(configured: Pick<AnyConfiguredProvider, 'provider'>): boolean {
  return configured.provider.protocol === 'oauth2' && configured.provider.promisesIss === true
}

/**
 * Refuses an answer that came from another provider than the one that was asked: a dishonest provider may have sent its visitor
 * on to an honest one, with the `state` of its own flow (RFC 9207, section 1).
 * @throws answerOfOtherProvider
 */
export function requireOwnAnswer(configured: AnyConfiguredProvider, { calledAt, iss }: ReturnPlace): void {
  const isAtOwnPlace = calledAt === (hasOwnCallback(configured) ? configured.name : undefined)
  const isMissing = iss === undefined && namesIssuer(configured)
  const isForeign = iss !== undefined && (isOAuth1(configured) || !isIssuerOf(configured.provider, iss))
  if (!isAtOwnPlace || isMissing || isForeign) throw answerOfOtherProvider()
}

/**
 * Whether an issuer is the provider's. A provider without OpenID Connect states no issuer. There the authorization endpoint must
 * be below it, as it is at all known servers.
 */
function isIssuerOf({ idTokens, authorizeUrl }: OAuth2Provider, iss: string): boolean {
  if (idTokens !== undefined) return idTokens.keysOf(iss) !== undefined
  const { origin, pathname } = new URL(authorizeUrl)
  const below = `${iss.replace(/\/$/, '')}/`
  return URL.parse(iss)?.origin === origin && `${origin}${pathname}`.startsWith(below)
}
