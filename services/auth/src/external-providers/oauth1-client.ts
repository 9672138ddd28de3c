import { createHmac } from 'node:crypto'
import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import { outboundFetch } from '@trestle/common/outbound/outbound-fetch.ts'
import { z } from 'zod'
import type { RandomBytes } from '../secrets/encrypted-secret.ts'
import type { ConfiguredProvider } from './custom-provider.ts'
import { type ExternalProfile, type OAuth1Provider, parseForeignJson } from './provider.ts'

export interface OAuth1Deps {
  readonly outbound: Outbound
  readonly randomBytes: RandomBytes
  readonly now: () => Date
}

export const OAuth1Token = z.object({ token: z.string().min(1), secret: z.string().min(1) }).readonly()

/** An OAuth 1.0a token with its secret. A flow stores them encrypted, as JSON. */
export type OAuth1Token = z.output<typeof OAuth1Token>

const NONCE_BYTES = 16
const TokenAnswer = z
  .object({ oauth_token: z.string().min(1), oauth_token_secret: z.string().min(1) })
  .transform(({ oauth_token: token, oauth_token_secret: secret }) => ({ token, secret }))
const RequestTokenAnswer = z.object({ oauth_callback_confirmed: z.literal('true') })

/** Gets the request token, with which the browser goes to the provider (RFC 5849, section 2.1). */
export async function requestToken(
  deps: OAuth1Deps,
  configured: ConfiguredProvider<OAuth1Provider>,
  callbackUrl: string,
): Promise<OAuth1Token> {
  const { requestTokenUrl: url } = configured.provider
  const answer = await send(deps, configured, { method: 'POST', url, extra: { oauth_callback: callbackUrl } })
  const form = Object.fromEntries(new URLSearchParams(answer))
  RequestTokenAnswer.parse(form)
  return TokenAnswer.parse(form)
}

/** Exchanges the request token for an access token after the user has agreed (RFC 5849, section 2.3). */
export async function exchangeVerifier(
  deps: OAuth1Deps,
  configured: ConfiguredProvider<OAuth1Provider>,
  { token, verifier }: { readonly token: OAuth1Token; readonly verifier: string },
): Promise<OAuth1Token> {
  const { accessTokenUrl: url } = configured.provider
  const answer = await send(deps, configured, { method: 'POST', url, token, extra: { oauth_verifier: verifier } })
  return TokenAnswer.parse(Object.fromEntries(new URLSearchParams(answer)))
}

export function readOAuth1Profile(
  deps: OAuth1Deps,
  configured: ConfiguredProvider<OAuth1Provider>,
  token: OAuth1Token,
): Promise<ExternalProfile> {
  return configured.provider.identify({
    get: async (url, schema) =>
      schema.parse(parseForeignJson(await send(deps, configured, { method: 'GET', url, token }))),
  })
}

async function send(
  { outbound, randomBytes, now }: OAuth1Deps,
  { account, origin }: ConfiguredProvider<OAuth1Provider>,
  request: Pick<SignedRequest, 'method' | 'url' | 'token' | 'extra'>,
): Promise<string> {
  const consumer = { key: account.clientId, secret: account.secret }
  const nonce = randomBytes(NONCE_BYTES).toString('hex')
  const authorization = oauth1Header({ ...request, consumer, nonce, now: now() })
  const { method, url } = request
  const response = await outboundFetch(outbound, origin)(url, { method, headers: { authorization } })
  if (!response.ok) throw new Error(`the provider answered ${response.status} to a signed request`)
  return response.text()
}

/** A request and the secrets that sign it. No maintained library signs OAuth 1.0a, so this service does it itself. */
export interface SignedRequest {
  readonly method: 'GET' | 'POST'
  /** The URL. The signature covers its query too. */
  readonly url: string
  readonly consumer: { readonly key: string; readonly secret: string }
  /** `undefined` for the first request of a sign-in. */
  readonly token?: { readonly token: string; readonly secret: string }
  /** The parameter `oauth_callback` or `oauth_verifier`. */
  readonly extra?: Readonly<Record<string, string>>
  /** Must be unique within each second. */
  readonly nonce: string
  readonly now: Date
}

/** Returns the header `Authorization`, signed with HMAC-SHA1 (RFC 5849, section 3). */
export function oauth1Header(request: SignedRequest): string {
  const { consumer, token, extra, nonce, now } = request
  const parameters: Readonly<Record<string, string>> = {
    ...extra,
    oauth_consumer_key: consumer.key,
    oauth_nonce: nonce,
    oauth_signature_method: 'HMAC-SHA1',
    oauth_timestamp: String(Math.floor(now.getTime() / 1_000)),
    ...(token ? { oauth_token: token.token } : {}),
    oauth_version: '1.0',
  }
  const key = `${encode(consumer.secret)}&${encode(token?.secret ?? '')}`
  const signature = createHmac('sha1', key).update(baseString(request, parameters)).digest('base64')
  const pairs = Object.entries({ ...parameters, oauth_signature: signature })
  return `OAuth ${pairs.map(([name, value]) => `${encode(name)}="${encode(value)}"`).join(', ')}`
}

/** The signed text (RFC 5849, section 3.4.1): method, URL without query, and all parameters in order. */
function baseString({ method, url }: SignedRequest, parameters: Readonly<Record<string, string>>): string {
  const { origin, pathname, searchParams } = new URL(url)
  const pairs = [...searchParams, ...Object.entries(parameters)]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    // Encoded text is ASCII, so this sorts by byte.
    .sort()
  return [method, origin + pathname, pairs.join('&')].map(encode).join('&')
}

/** Percent-encodes everything except letters, digits, `-`, `.`, `_` and `~` (RFC 5849, section 3.6). */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}
