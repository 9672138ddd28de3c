import { z } from 'zod'
import { EVENT_TYPES } from './event.ts'
import type { Webhook } from './webhook.ts'

/** The JSON of a webhook, without its secret. */
export const WebhookView = z
  .object({
    id: z.string(),
    url: z.string(),
    events: z.array(z.enum(EVENT_TYPES)).describe('The types that are sent; empty: all'),
    disabled: z.iso.datetime().optional().describe('When the webhook was disabled'),
    created: z.iso.datetime(),
  })
  .meta({ id: 'Webhook' })

/** How to verify a delivery, for the OpenAPI document (reference: Deliveries). */
export const SIGNATURE =
  'A delivery has the header `X-Signature: t=<unix seconds>,v1=<hex>[,v1=<hex>]`. Each `v1` is the HMAC-SHA-256 of the time, a point and the body as it came, in hexadecimal. The key is the text of a secret, as it was shown: do not decode it. Any `v1` that is right proves the delivery; compare in constant time, and refuse old times.'

/** The JSON of a webhook with its new secret. No other answer contains the secret. */
export const WebhookSecretView = z.object({
  id: z.string(),
  url: z.string(),
  events: z.array(z.enum(EVENT_TYPES)).describe('The types that are sent; empty: all'),
  secret: z.string().describe('Shown in this answer alone. Its text is the key of the signatures: do not decode it'),
  created: z.iso.datetime(),
})

type ShownWebhook = Omit<Webhook, 'merchantId' | 'secrets'>

export function viewWebhook({ id, url, events, disabled, created }: ShownWebhook): z.infer<typeof WebhookView> {
  return {
    id,
    url,
    events: [...events],
    ...(disabled === null ? {} : { disabled: disabled.toISOString() }),
    created: created.toISOString(),
  }
}

export function viewWebhookSecret(
  { id, url, events, created }: Webhook,
  secret: string,
): z.infer<typeof WebhookSecretView> {
  return { id, url, events: [...events], secret, created: created.toISOString() }
}
