import { createHash } from 'node:crypto'
import { type AnyConfiguredProvider, type ConfiguredProvider, isOAuth1 } from './configured-provider.ts'
import { failExchange } from './describe-failure.ts'
import { type OAuth1Deps, requestToken } from './oauth1-client.ts'
import type { OAuth1Provider, OAuth2Provider } from './provider.ts'

/** A sign-in that a browser asks for. */
export interface SignInRequest {
  /** The parameter `state`, by which the answer finds its flow. */
  readonly state: string
  /** The client's own scopes, separated by commas or spaces. */
  readonly scopes: string
  /** The client's whole query. Parameters that are not ours are passed on. */
  readonly query: Readonly<Record<string, string>>
}

/** The address to which the browser goes, and the secrets that the answer of the provider needs. */
export interface BegunSignIn {
  readonly url: string
  /** Undefined for a provider that does not bind its code to a verifier. */
  readonly codeVerifier?: string
  /** JSON of an `OAuth1Token`. */
  readonly requestToken?: string
}

const VERIFIER_BYTES = 32

/** Begins a sign-in at a provider. Only OAuth 1.0a asks the provider before the browser goes there. @throws exchangeFailed */
export async function beginSignIn(
  deps: OAuth1Deps,
  configured: AnyConfiguredProvider,
  request: SignInRequest,
): Promise<BegunSignIn> {
  if (isOAuth1(configured)) return beginOAuth1(deps, configured, request.state)
  if (!configured.provider.usesPkce) return { url: authorizationUrl(configured, request) }
  const codeVerifier = deps.randomBytes(VERIFIER_BYTES).toString('base64url')
  return { url: authorizationUrl(configured, request, codeVerifier), codeVerifier }
}

/** Gets a token that stands for the whole request. The state becomes a part of the URL to which the browser returns. */
async function beginOAuth1(
  deps: OAuth1Deps,
  configured: ConfiguredProvider<OAuth1Provider>,
  state: string,
): Promise<BegunSignIn> {
  const callback = new URL(configured.account.redirectUri)
  callback.searchParams.set('state', state)
  const token = await requestToken(deps, configured, callback.href).catch(failExchange)
  const url = new URL(configured.provider.authorizeUrl)
  url.searchParams.set('oauth_token', token.token)
  return { url: url.href, requestToken: JSON.stringify(token) }
}

/** Parameters that this service alone decides, or reads itself. It never passes the client's value on. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set([
  ...['client_id', 'client_secret', 'redirect_uri', 'response_type', 'response_mode', 'state', 'scope'],
  ...['code_challenge', 'code_challenge_method', 'code_verifier', 'redirect_to', 'skip_http_redirect'],
  ...['provider', 'scopes', 'invite_token'],
  // An unsigned request object (RFC 9101) would override all of these.
  ...['request', 'request_uri'],
])

/** The URL of an authorization request (RFC 6749, section 4.1.1). Spaces are `%20`, because Apple does not read `+`. */
function authorizationUrl(
  { provider, account }: ConfiguredProvider<OAuth2Provider>,
  { state, scopes, query }: SignInRequest,
  codeVerifier?: string,
): string {
  const url = new URL(provider.authorizeUrl)
  const scope = [...new Set([...provider.scopes, ...(provider.takesScopes ? splitScopes(scopes) : [])])].join(' ')
  const parameters = {
    ...Object.fromEntries(url.searchParams),
    ...provider.authorizeParams,
    ...selectProviderParameters(query),
    client_id: account.clientId,
    redirect_uri: account.redirectUri,
    response_type: 'code',
    ...(scope === '' ? {} : { scope }),
    state,
    ...(codeVerifier === undefined
      ? {}
      : { code_challenge: toCodeChallenge(codeVerifier), code_challenge_method: 'S256' }),
  }
  url.search = new URLSearchParams(parameters).toString().replaceAll('+', '%20')
  return url.href
}

function selectProviderParameters(query: Readonly<Record<string, string>>): Record<string, string> {
  const passed = Object.entries(query).filter(([name]) => !OWN_PARAMETERS.has(name.toLowerCase()))
  // WorkOS has a parameter `provider` too. Clients of this service call it `workos_provider`.
  return Object.fromEntries(passed.map(([name, value]) => [name === 'workos_provider' ? 'provider' : name, value]))
}

function splitScopes(scopes: string): readonly string[] {
  return scopes.split(/[\s,]+/).filter((scope) => scope !== '')
}

function toCodeChallenge(codeVerifier: string): string {
  return createHash('sha256').update(codeVerifier).digest('base64url')
}
