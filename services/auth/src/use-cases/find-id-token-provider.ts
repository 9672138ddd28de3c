import { PROVIDERS } from '../config/external.ts'
import type { AuthDeps } from '../deps.ts'
import { validationFailed } from '../errors.ts'
import { providerDisabled } from '../external-errors.ts'
import { builtInProviders, issuerOf } from '../providers/built-in-providers.ts'
import { type AnyConfiguredProvider, type ConfiguredProvider, isOAuth1 } from '../providers/configured-provider.ts'
import type { IdTokenRules } from '../providers/id-token.ts'
import type { OAuth2Provider } from '../providers/provider.ts'
import { findProvider } from './find-provider.ts'

/** Whose id_token a request brings: the provider by name, or an issuer and the client that the token is for. */
export interface IdTokenSource {
  readonly provider: string | undefined
  readonly issuer: string | undefined
  readonly clientId: string | undefined
}

/** What an id_token is judged by. */
export interface IdTokenProvider {
  readonly configured: ConfiguredProvider<OAuth2Provider>
  readonly rules: IdTokenRules
  /** Client ids that it may be for. */
  readonly audiences: readonly string[]
}

/**
 * Finds the provider of an id_token before anything of the token is read (reference: Id token grant). An issuer has to
 * be permitted by EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS and belong to a provider that is switched on; the client that a
 * request names has to be one of ours: else a token that was made for any application would do.
 * @throws validationFailed, providerDisabled
 */
export async function findIdTokenProvider(deps: AuthDeps, source: IdTokenSource): Promise<IdTokenProvider> {
  const { provider, issuer, clientId } = source
  if (provider) {
    const configured = await findProvider(deps, provider)
    if (!configured) throw disabled(usualIssuer(provider))
    return judgeOf(configured, configured.clientIds)
  }
  if (!issuer || !clientId) throw validationFailed({ message: 'provider or client_id and issuer required' })
  const { external } = deps.config
  const issuing = builtInProviders(external).find((candidate) => issues(candidate, issuer))
  const isPermitted = external.idTokenIssuers.includes(issuer) && issuing?.clientIds.includes(clientId)
  if (!issuing || !isPermitted) throw disabled(issuer)
  return judgeOf(issuing, [clientId])
}

function judgeOf(configured: AnyConfiguredProvider, audiences: readonly string[]): IdTokenProvider {
  const rules = isOAuth1(configured) ? undefined : configured.provider.idTokens
  if (isOAuth1(configured) || !rules) {
    throw validationFailed({ message: `Provider ${configured.name} cannot be used with the id_token grant` })
  }
  return { configured, rules, audiences }
}

function issues(configured: AnyConfiguredProvider, issuer: string): boolean {
  return !isOAuth1(configured) && configured.provider.idTokens?.keysOf(issuer) !== undefined
}

function usualIssuer(provider: string): string {
  const known = PROVIDERS.find((name) => name === provider)
  return known ? issuerOf(known) : provider
}

function disabled(issuer: string) {
  return providerDisabled({ message: `Provider (issuer "${issuer}") is not enabled` })
}
