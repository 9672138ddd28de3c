import { createHmac } from 'node:crypto'
import type { EventType } from './event.ts'

/** Where a merchant wants its events sent. */
export interface Webhook {
  readonly id: string
  readonly merchantId: string
  readonly url: string
  /** The types that are sent; empty: all. */
  readonly events: readonly EventType[]
  readonly secrets: SealedSecrets
  /** When sending was given up; null while it goes on. */
  readonly disabled: Date | null
  readonly created: Date
}

/** The secrets that sign, as they are kept. Until `previousUntil` the one before signs too. */
export interface SealedSecrets {
  readonly current: Buffer
  readonly previous: Buffer | null
  readonly previousUntil: Date | null
}

const TLS_PORTS: ReadonlySet<string> = new Set(['', '443', '8443'])
const UNPRIVILEGED = 1_024

/** Whether events may be sent to a URL as far as its text tells: http or https, a fit port, no credentials. */
export function isWebhookUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url?.username !== '' || url.password !== '') return false
  if (url.protocol === 'https:' && TLS_PORTS.has(url.port)) return true
  return (url.protocol === 'https:' || url.protocol === 'http:') && Number(url.port) >= UNPRIVILEGED
}

/**
 * The header `X-Signature` of a delivery: `t=<unix seconds>,v1=<hex>[,v1=<hex>]`, one HMAC-SHA-256 a secret over the time, a
 * point and the body. The time lets a consumer refuse old deliveries that somebody sends again.
 */
export function signDelivery(secrets: readonly string[], unixSeconds: number, body: string): string {
  const signatures = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex'),
  )
  return [`t=${unixSeconds}`, ...signatures.map((signature) => `v1=${signature}`)].join(',')
}
