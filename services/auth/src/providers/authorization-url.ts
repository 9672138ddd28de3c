import { createHash } from 'node:crypto'
import type { ConfiguredProvider } from './configured-provider.ts'
import type { OAuth2Provider } from './provider.ts'

/** What this service alone decides of an authorization request, or reads itself: a caller's value is never passed on. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set([
  ...['client_id', 'client_secret', 'redirect_uri', 'response_type', 'response_mode', 'state', 'scope'],
  ...['code_challenge', 'code_challenge_method', 'code_verifier', 'redirect_to', 'skip_http_redirect'],
  ...['provider', 'scopes', 'invite_token'],
  // RFC 9101: an object, signed by nobody, whose members come before all of these.
  ...['request', 'request_uri'],
])

export interface AuthorizationRequest {
  readonly state: string
  /** The caller's own, comma or space separated. */
  readonly scopes: string
  /** The query of the caller. */
  readonly query: Readonly<Record<string, string>>
  /** Where the provider binds the code to one. */
  readonly codeVerifier?: string
}

/** Where a browser is sent to sign in (RFC 6749, section 4.1.1). Spaces are `%20`: Apple reads no `+`. */
export function authorizationUrl(
  { provider, account }: ConfiguredProvider<OAuth2Provider>,
  { state, scopes, query, codeVerifier }: AuthorizationRequest,
): string {
  const url = new URL(provider.authorizeUrl)
  const scope = [...new Set([...provider.scopes, ...(provider.takesScopes ? splitScopes(scopes) : [])])].join(' ')
  const parameters = {
    ...Object.fromEntries(url.searchParams),
    ...provider.authorizeParams,
    ...passedOn(query),
    client_id: account.clientId,
    redirect_uri: account.redirectUri,
    response_type: 'code',
    ...(scope === '' ? {} : { scope }),
    state,
    ...(codeVerifier === undefined ? {} : { code_challenge: toChallenge(codeVerifier), code_challenge_method: 'S256' }),
  }
  url.search = new URLSearchParams(parameters).toString().replaceAll('+', '%20')
  return url.href
}

function passedOn(query: Readonly<Record<string, string>>): Record<string, string> {
  const passed = Object.entries(query).filter(([name]) => !OWN_PARAMETERS.has(name.toLowerCase()))
  // WorkOS calls `provider` what this service calls otherwise.
  return Object.fromEntries(passed.map(([name, value]) => [name === 'workos_provider' ? 'provider' : name, value]))
}

function splitScopes(scopes: string): readonly string[] {
  return scopes.split(/[\s,]+/).filter((scope) => scope !== '')
}

function toChallenge(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}
