import { createHmac } from 'node:crypto'

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
