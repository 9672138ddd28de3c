import type { AuthDeps } from '../deps.ts'
import { exchangeFailed, profileFailed, providerRefused } from '../external-errors.ts'
import type { AuthorizationFlow } from '../flows/flow-repository.ts'
import { type ExternalAccount, toExternalAccount } from '../identities/external-account.ts'
import { type AnyConfiguredProvider, type ConfiguredProvider, isOAuth1 } from '../providers/configured-provider.ts'
import { describeFailure } from '../providers/describe-failure.ts'
import { exchangeCode } from '../providers/exchange-code.ts'
import { exchangeVerifier, type OAuth1Token, readOAuth1Profile } from '../providers/oauth1-client.ts'
import type { ExternalProfile, OAuth1Provider, OAuth2Provider } from '../providers/provider.ts'
import { readProfile } from '../providers/read-profile.ts'
import { openSecret } from '../secrets/sealed-secret.ts'

/** What a provider has sent a browser back with: the query, or Apple's form. */
export interface ProviderAnswer {
  readonly code?: string | undefined
  readonly error?: string | undefined
  readonly error_description?: string | undefined
  /** Apple's. */
  readonly user?: string | undefined
  /** OAuth 1.0a. */
  readonly oauth_token?: string | undefined
  readonly oauth_verifier?: string | undefined
  readonly denied?: string | undefined
}

/** Who has signed in at a provider, and the tokens that came with it. */
export interface ProviderSignIn {
  readonly account: ExternalAccount
  readonly tokens: { readonly access: string; readonly refresh: string | undefined }
}

/** Where a flow stands with its provider. */
export type AskedFlow = Pick<AuthorizationFlow, 'id' | 'codeVerifier' | 'requestToken'>

/**
 * Asks a provider who has signed in there. No connection to the database is held meanwhile.
 * @throws providerRefused, exchangeFailed, profileFailed
 */
export async function askProvider(
  deps: AuthDeps,
  configured: AnyConfiguredProvider,
  flow: AskedFlow,
  answer: ProviderAnswer,
): Promise<ProviderSignIn> {
  refuseDenied(answer)
  const { profile, tokens } = isOAuth1(configured)
    ? await askOAuth1(deps, configured, flow, answer)
    : await askOAuth2(deps, configured, flow, answer)
  try {
    return { account: toExternalAccount(configured, profile, deps.config.security), tokens }
  } catch (error) {
    throw profileFailed({ cause: describeFailure(error) })
  }
}

const OAUTH_ERROR = /^[a-z0-9._-]{1,64}$/i
const DESCRIPTION_LENGTH_MAX = 300

/**
 * The person has said no, or the provider. Its name of the error goes on to whoever sent the browser there. Its words are for
 * the log alone: anybody can write them into an address, and an application shows them as its own.
 */
function refuseDenied({ error, error_description: description, denied }: ProviderAnswer): void {
  if (error === undefined && denied === undefined) return
  const name = error === undefined ? 'access_denied' : OAUTH_ERROR.test(error) ? error : 'server_error'
  const cause = new Error(description?.slice(0, DESCRIPTION_LENGTH_MAX) ?? 'the provider gives no reason')
  throw providerRefused({ cause, details: { error: name } })
}

interface Asked {
  readonly profile: ExternalProfile
  readonly tokens: ProviderSignIn['tokens']
}

async function askOAuth2(
  deps: AuthDeps,
  configured: ConfiguredProvider<OAuth2Provider>,
  flow: AskedFlow,
  { code, user: userField }: ProviderAnswer,
): Promise<Asked> {
  if (!code) throw providerRefused({ message: 'OAuth callback without authorization code' })
  const codeVerifier = flow.codeVerifier ? openSecret(deps.encryptionKeys, flow.id, flow.codeVerifier) : undefined
  const grant = await exchangeCode(deps.outbound, configured, { code, codeVerifier, userField }).catch(failExchange)
  const profile = await readProfile(deps, configured, grant).catch(failProfile)
  return { profile, tokens: { access: grant.accessToken, refresh: grant.refreshToken } }
}

async function askOAuth1(
  deps: AuthDeps,
  configured: ConfiguredProvider<OAuth1Provider>,
  { id, requestToken }: AskedFlow,
  { oauth_token: token, oauth_verifier: verifier }: ProviderAnswer,
): Promise<Asked> {
  // This service has sealed it.
  const asked = requestToken && (JSON.parse(openSecret(deps.encryptionKeys, id, requestToken)) as OAuth1Token)
  if (!asked || !verifier || token !== asked.token) {
    throw providerRefused({ message: 'OAuth callback without the request token of this sign-in' })
  }
  const granted = await exchangeVerifier(deps, configured, { token: asked, verifier }).catch(failExchange)
  const profile = await readOAuth1Profile(deps, configured, granted).catch(failProfile)
  return { profile, tokens: { access: granted.token, refresh: undefined } }
}

function failExchange(error: unknown): never {
  throw exchangeFailed({ cause: describeFailure(error) })
}

function failProfile(error: unknown): never {
  throw profileFailed({ cause: describeFailure(error) })
}
