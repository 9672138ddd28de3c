import { createHmac } from 'node:crypto'
import type { EventType, MerchantEvent } from './event.ts'
import { viewEvent } from './event-view.ts'

/** An address to which the events of a merchant are sent. */
export interface Webhook {
  readonly id: string
  readonly merchantId: string
  readonly url: string
  /** The types of events that are sent. If empty, all types are sent. */
  readonly events: readonly EventType[]
  readonly secrets: EncryptedSecrets
  /** The time when the webhook was disabled. `null` if it is enabled. */
  readonly disabled: Date | null
  readonly created: Date
}

/** The encrypted secrets that sign deliveries. Until `previousUntil`, deliveries are signed with both. */
export interface EncryptedSecrets {
  readonly current: Buffer
  readonly previous: Buffer | null
  readonly previousUntil: Date | null
}

const TLS_PORTS: ReadonlySet<string> = new Set(['', '443', '8443'])
const UNPRIVILEGED_PORT_MIN = 1_024

/** Returns whether a URL may belong to a webhook: http or https, a permitted port, no credentials. */
export function isWebhookUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url?.username !== '' || url.password !== '') return false
  if (url.protocol === 'https:' && TLS_PORTS.has(url.port)) return true
  return (url.protocol === 'https:' || url.protocol === 'http:') && Number(url.port) >= UNPRIVILEGED_PORT_MIN
}

/** Normalizes a URL for storage, with the parser that is also used for sending. Text that is not a URL does not change. */
export function toWebhookUrl(text: string): string {
  return URL.parse(text)?.href ?? text
}

/** Returns whether the scheme of a stored URL allows deliveries: https, or http for a test merchant if the operator allows it. */
export function isSchemeAllowed(
  url: string,
  { test, allowHttp }: { readonly test: boolean; readonly allowHttp: boolean },
): boolean {
  return new URL(url).protocol === 'https:' || (test && allowHttp)
}

const HOST = '([^\\u0000-\\u0020\\u007f#%/:<>?@\\[\\\\\\]^|]+|\\[[0-9A-Fa-f:.]+\\])'
const PORT =
  '(10(2[4-9]|[3-9][0-9])|1[1-9][0-9]{2}|[2-9][0-9]{3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])'
/** The pattern of the URLs that `isWebhookUrl` accepts, for the OpenAPI document. */
export const WEBHOOK_URL_PATTERN = `^(https://${HOST}(:(443|8443|${PORT}))?|http://${HOST}:${PORT})([/?#][^\\u0000]*)?$`

export interface DeliveryRequest {
  readonly body: string
  readonly headers: {
    readonly 'content-type': string
    readonly 'user-agent': string
    readonly 'x-signature': string
  }
}

/** Returns the body and the headers of a delivery, signed with each secret (reference: Deliveries). */
export function toDelivery(event: MerchantEvent, secrets: readonly string[], now: Date): DeliveryRequest {
  const body = JSON.stringify(viewEvent(event))
  return {
    body,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Trestle-Payments',
      'x-signature': signDelivery(secrets, Math.floor(now.getTime() / 1_000), body),
    },
  }
}

/**
 * Returns the header `X-Signature` of a delivery: `t=<unix seconds>,v1=<hex>[,v1=<hex>]`. Each `v1` is an HMAC-SHA-256 with one
 * secret over the time, a point and the body. The time lets a receiver refuse old deliveries.
 */
export function signDelivery(secrets: readonly string[], unixSeconds: number, body: string): string {
  const signatures = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex'),
  )
  return [`t=${unixSeconds}`, ...signatures.map((signature) => `v1=${signature}`)].join(',')
}
