import { createHmac } from 'node:crypto'
import type { EventType, MerchantEvent } from './event.ts'
import { viewEvent } from './event-view.ts'

/** An address to which the events of a merchant are sent. */
export interface Webhook {
  readonly id: string
  readonly merchantId: string
  readonly url: string
  /** The types that are sent; empty: all. */
  readonly events: readonly EventType[]
  readonly secrets: EncryptedSecrets
  /** When the webhook was disabled. Null while events are sent. */
  readonly disabled: Date | null
  readonly created: Date
}

/** The encrypted secrets that sign deliveries. The previous one signs too until `previousUntil`. */
export interface EncryptedSecrets {
  readonly current: Buffer
  readonly previous: Buffer | null
  readonly previousUntil: Date | null
}

const TLS_PORTS: ReadonlySet<string> = new Set(['', '443', '8443'])
const UNPRIVILEGED_PORT_MIN = 1_024

/** Whether the text of a URL allows deliveries: http or https, a permitted port, no credentials. */
export function isWebhookUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url?.username !== '' || url.password !== '') return false
  if (url.protocol === 'https:' && TLS_PORTS.has(url.port)) return true
  return (url.protocol === 'https:' || url.protocol === 'http:') && Number(url.port) >= UNPRIVILEGED_PORT_MIN
}

/** Normalizes a URL for storage, as the parser does when events are sent. A text that is no URL stays as it is. */
export function toWebhookUrl(text: string): string {
  return URL.parse(text)?.href ?? text
}

/** Whether the scheme of a stored URL allows deliveries: https, or http for a test merchant where the operator allows it. */
export function isSchemeAllowed(
  url: string,
  { test, allowHttp }: { readonly test: boolean; readonly allowHttp: boolean },
): boolean {
  return new URL(url).protocol === 'https:' || (test && allowHttp)
}

const HOST = '([^\\u0000-\\u0020\\u007f#%/:<>?@\\[\\\\\\]^|]+|\\[[0-9A-Fa-f:.]+\\])'
const PORT =
  '(10(2[4-9]|[3-9][0-9])|1[1-9][0-9]{2}|[2-9][0-9]{3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])'
/** The URLs that `isWebhookUrl` accepts, for the API document. */
export const WEBHOOK_URL_PATTERN = `^(https://${HOST}(:(443|8443|${PORT}))?|http://${HOST}:${PORT})([/?#][^\\u0000]*)?$`

export interface DeliveryRequest {
  readonly body: string
  readonly headers: {
    readonly 'content-type': string
    readonly 'user-agent': string
    readonly 'x-signature': string
  }
}

/** Returns the body and the headers with which an event is sent, signed by each secret (reference: Deliveries). */
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
 * The header `X-Signature` of a delivery: `t=<unix seconds>,v1=<hex>[,v1=<hex>]`. Each secret makes one HMAC-SHA-256
 * over the time, a point and the body. A receiver can refuse old deliveries by the time.
 */
export function signDelivery(secrets: readonly string[], unixSeconds: number, body: string): string {
  const signatures = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex'),
  )
  return [`t=${unixSeconds}`, ...signatures.map((signature) => `v1=${signature}`)].join(',')
}
