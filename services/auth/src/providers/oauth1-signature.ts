import { createHmac } from 'node:crypto'

/** A request that is to be signed, and with what. No library that is still kept signs OAuth 1.0a. */
export interface SignedRequest {
  readonly method: 'GET' | 'POST'
  /** Its query is signed with it. */
  readonly url: string
  readonly consumer: { readonly key: string; readonly secret: string }
  /** Absent from the very first request. */
  readonly token?: { readonly token: string; readonly secret: string }
  /** `oauth_callback` or `oauth_verifier`. */
  readonly extra?: Readonly<Record<string, string>>
  /** Never used twice in a second. */
  readonly nonce: string
  readonly now: Date
}

/** The header `Authorization` of a request, signed with HMAC-SHA1 (RFC 5849, section 3). */
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

/** What is signed (section 3.4.1): method, address without query, and all parameters in one order. */
function baseString({ method, url }: SignedRequest, parameters: Readonly<Record<string, string>>): string {
  const { origin, pathname, searchParams } = new URL(url)
  const pairs = [...searchParams, ...Object.entries(parameters)]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    // By byte: what is encoded is ASCII.
    .sort()
  return [method, origin + pathname, pairs.join('&')].map(encode).join('&')
}

/** Section 3.6: all but letters, digits, `-`, `.`, `_` and `~`. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}
