import { createHash } from 'node:crypto'
import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import { outboundFetch } from '@trestle/common/outbound/outbound-fetch.ts'
import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type ClientAuth,
  ClientSecretPost,
  customFetch,
  nopkce,
  processAuthorizationCodeResponse,
  validateAuthResponse,
} from 'oauth4webapi'
import { z } from 'zod'
import { answerOfOtherProvider } from '../external-errors.ts'
import { type AnyConfiguredProvider, type ConfiguredProvider, isOAuth1 } from './custom-provider.ts'
import { type OAuth1Deps, requestToken } from './oauth1-client.ts'
import { failExchange, type Grant, type OAuth1Provider, type OAuth2Provider, parseForeignJson } from './provider.ts'

interface SignInRequest {
  /** The parameter `state`, which connects the answer with its flow. */
  readonly state: string
  /** The client's scopes, separated by commas or spaces. */
  readonly scopes: string
  /** The client's complete query. Unknown parameters are passed on to the provider. */
  readonly query: Readonly<Record<string, string>>
}

/** The next address of the browser, and the secrets that are needed for the provider's answer. */
interface BegunSignIn {
  readonly url: string
  /** `undefined` if the provider does not support a code verifier. */
  readonly codeVerifier?: string
  /** An `OAuth1Token` as JSON. */
  readonly requestToken?: string
}

const VERIFIER_BYTES = 32

/** Begins a sign-in at a provider. Only for OAuth 1.0a, this calls the provider. */
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

/** Requests a token that stands for the whole request. The state becomes part of the URL to which the browser returns. */
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

/** Parameters that only this service sets or reads. Values from the client are never passed on. */
const OWN_PARAMETERS: ReadonlySet<string> = new Set([
  ...['client_id', 'client_secret', 'redirect_uri', 'response_type', 'response_mode', 'state', 'scope'],
  ...['code_challenge', 'code_challenge_method', 'code_verifier', 'redirect_to', 'skip_http_redirect'],
  ...['provider', 'scopes', 'invite_token'],
  // An unsigned request object (RFC 9101) would override all other parameters.
  ...['request', 'request_uri'],
])

/** The URL of an authorization request (RFC 6749, section 4.1.1). Spaces are `%20`, because Apple does not accept `+`. */
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
  // WorkOS has its own parameter `provider`, which clients of this service send as `workos_provider`.
  return Object.fromEntries(passed.map(([name, value]) => [name === 'workos_provider' ? 'provider' : name, value]))
}

function splitScopes(scopes: string): readonly string[] {
  return scopes.split(/[\s,]+/).filter((scope) => scope !== '')
}

function toCodeChallenge(codeVerifier: string): string {
  return createHash('sha256').update(codeVerifier).digest('base64url')
}

/** The parameters of a browser that returns from the provider, and the verifier from the flow. */
interface CodeAnswer {
  readonly code: string
  /** `undefined` if the provider does not support a code verifier. */
  readonly codeVerifier: string | undefined
  readonly userField: string | undefined
}

/** Exchanges a code (RFC 6749, section 4.1.3). The caller has checked the state. @throws Error if the provider refuses */
export async function exchangeCode(
  outbound: Outbound,
  { provider, account, origin }: ConfiguredProvider<OAuth2Provider>,
  { code, codeVerifier, userField }: CodeAnswer,
): Promise<Grant> {
  const server = { issuer: provider.issuer, token_endpoint: provider.tokenUrl }
  const client = { client_id: account.clientId }
  const parameters = validateAuthResponse(server, client, new URLSearchParams({ code }))
  const requestTokens = (auth: ClientAuth): Promise<Response> =>
    authorizationCodeGrantRequest(server, client, auth, parameters, account.redirectUri, codeVerifier ?? nopkce, {
      [customFetch]: outboundFetch(outbound, origin),
      // URLs from the operator's settings may use http. URLs from the database must use https (reference: Outbound calls).
      [allowInsecureRequests]: origin === 'operator',
    })
  const response = await authenticate(provider.clientAuth, account.secret, requestTokens)
  const answer = response.ok ? Members.parse(parseForeignJson(await response.clone().text())) : {}
  const conform = response.ok ? Response.json(toConform(answer)) : response
  const granted = await processAuthorizationCodeResponse(server, client, conform)
  const { data: idToken } = Token.safeParse(answer.id_token)
  return { accessToken: granted.access_token, refreshToken: granted.refresh_token, idToken, answer, userField }
}

const Members = z.record(z.string(), z.unknown())
/** Optional text. `null`, an empty text and other types count as missing. */
const Token = z.string().min(1)

/**
 * Returns the members of an answer that are used here, as RFC 6749 defines them (reference: Answers of providers). The id_token
 * is verified later by its signature.
 */
function toConform({ access_token, token_type, refresh_token }: z.output<typeof Members>): object {
  return {
    access_token,
    token_type: Token.safeParse(token_type).data ?? 'bearer',
    refresh_token: Token.safeParse(refresh_token).data,
  }
}

/** Tries HTTP Basic first if both methods are allowed, to keep the secret out of the body. */
async function authenticate(
  clientAuth: OAuth2Provider['clientAuth'],
  secret: string,
  requestTokens: (auth: ClientAuth) => Promise<Response>,
): Promise<Response> {
  if (clientAuth === 'post') return requestTokens(ClientSecretPost(secret))
  const response = await requestTokens(basicAuth(secret))
  return response.status === 401 && clientAuth === 'basic-or-post' ? requestTokens(ClientSecretPost(secret)) : response
}

/**
 * HTTP Basic (RFC 6749, section 2.3.1) with the escapes of forms. The library also escapes `-` as `%2D`, and servers that do not
 * decode this do not recognize the client.
 */
function basicAuth(secret: string): ClientAuth {
  return (_server, client, _body, headers) => {
    const credentials = `${formEscape(client.client_id)}:${formEscape(secret)}`
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`)
  }
}

function formEscape(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

/** The address to which a browser returned, and the issuer in its answer. */
export interface ReturnPlace {
  /** The provider in `/callback/<provider>`. `undefined` at the shared `/callback`. */
  readonly calledAt: string | undefined
  /** The parameter `iss`. `undefined` if the answer has none. */
  readonly iss: string | undefined
}

/** Whether a provider has its own redirect URI, `/callback/<provider>`, instead of the shared `/callback`. */
export function hasOwnCallback({ name, account }: Pick<AnyConfiguredProvider, 'name' | 'account'>): boolean {
  const [, owner] = /\/callback\/([^/]+)\/?$/.exec(new URL(account.redirectUri).pathname) ?? []
  return owner === name || owner === encodeURIComponent(name)
}

/** Whether each answer of a provider contains its issuer (RFC 9207). */
export function namesIssuer(configured: Pick<AnyConfiguredProvider, 'provider'>): boolean {
  return configured.provider.protocol === 'oauth2' && configured.provider.promisesIss === true
}

/**
 * Refuses an answer from another provider than the requested one. A malicious provider may have redirected its user to an honest
 * provider with the `state` of its own flow (RFC 9207, section 1).
 */
export function requireOwnAnswer(configured: AnyConfiguredProvider, { calledAt, iss }: ReturnPlace): void {
  const isAtOwnPlace = calledAt === (hasOwnCallback(configured) ? configured.name : undefined)
  const isMissing = iss === undefined && namesIssuer(configured)
  const isForeign = iss !== undefined && (isOAuth1(configured) || !isIssuerOf(configured.provider, iss))
  if (!isAtOwnPlace || isMissing || isForeign) throw answerOfOtherProvider()
}

/**
 * Whether an issuer belongs to the provider. Without OpenID Connect, no issuer is known. The authorization endpoint must then be
 * below the issuer's URL, as at all known servers.
 */
function isIssuerOf({ idTokens, authorizeUrl }: OAuth2Provider, iss: string): boolean {
  if (idTokens !== undefined) return idTokens.keysOf(iss) !== undefined
  const { origin, pathname } = new URL(authorizeUrl)
  const below = `${iss.replace(/\/$/, '')}/`
  return URL.parse(iss)?.origin === origin && `${origin}${pathname}`.startsWith(below)
}
