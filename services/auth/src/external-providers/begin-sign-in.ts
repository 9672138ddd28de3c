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
  /** The parameter `state`, by which the answer finds its flow. */
  readonly state: string
  /** The client's own scopes, separated by commas or spaces. */
  readonly scopes: string
  /** The client's whole query. Parameters that are not ours are passed on. */
  readonly query: Readonly<Record<string, string>>
}

/** The address to which the browser goes, and the secrets that the answer of the provider needs. */
interface BegunSignIn {
  readonly url: string
  /** Undefined for a provider that does not bind its code to a verifier. */
  readonly codeVerifier?: string
  /** JSON of an `OAuth1Token`. */
  readonly requestToken?: string
}

const VERIFIER_BYTES = 32

/** Begins a sign-in at a provider. Only OAuth 1.0a asks the provider before the browser goes there. */
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

/** The parameters with which the browser returns from the provider, and the verifier that the flow has kept. */
interface CodeAnswer {
  readonly code: string
  /** Undefined for a provider that does not bind its code to a verifier. */
  readonly codeVerifier: string | undefined
  readonly userField: string | undefined
}

/** Exchanges a code (RFC 6749, section 4.1.3). The caller has checked the state. @throws Error when the provider refuses */
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
      // A setting of the operator may use http. URLs from the database must be https (reference: Outbound calls).
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
/** An optional text. Null, an empty text and another type count as missing. */
const Token = z.string().min(1)

/**
 * The members of an answer that count here, as RFC 6749 writes them (reference: Answers of providers). The id_token is verified
 * later, by its signature.
 */
function toConform({ access_token, token_type, refresh_token }: z.output<typeof Members>): object {
  return {
    access_token,
    token_type: Token.safeParse(token_type).data ?? 'bearer',
    refresh_token: Token.safeParse(refresh_token).data,
  }
}

/** Tries HTTP Basic first where both ways are allowed, to keep the secret out of the body. */
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
 * HTTP Basic (RFC 6749, section 2.3.1), escaped as forms are. The library escapes `-` as `%2D` too, and servers that do not undo
 * that do not recognise the client.
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
 * Refuses an answer of another provider than the asked one. A dishonest provider may have sent its visitor on to an honest one
 * with the `state` of its own flow (RFC 9207, section 1).
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
