import type { Pools } from '@trestle/database/pools.ts'
import type { Caller } from '../access/caller.ts'
import { type RequestInput, requireObject } from '../access/require-access.ts'
import type { WebhookDeps } from '../webhooks/delivery.ts'
import type { Webhook } from '../webhooks/webhook.ts'
import { callRotateWebhookSecret } from '../webhooks/webhook-repository.ts'
import { generateWebhookSecret } from '../webhooks/webhook-secret.ts'

/**
 * Gives a webhook a new secret, which only this answer contains (reference: Webhooks). For 24 hours, events are signed with the
 * previous secret too.
 */
export async function rotateWebhookSecret(
  {
    pools,
    randomBytes,
    webhooks,
  }: { readonly pools: Pools; readonly randomBytes: (size: number) => Buffer; readonly webhooks: WebhookDeps },
  {
    caller,
    merchantId,
    webhookId,
    input,
  }: {
    readonly caller: Caller
    readonly merchantId: string
    readonly webhookId: string
    readonly input: RequestInput<unknown>
  },
): Promise<{ readonly webhook: Webhook; readonly secret: string; readonly replayed: boolean }> {
  const encrypted =
    input.verdict === 'refused' ? null : webhooks.secrets.encrypt(generateWebhookSecret(randomBytes), merchantId)
  const rotated = await callRotateWebhookSecret(pools, { caller, merchantId, webhookId, encryptedSecret: encrypted })
  const webhook = requireObject(caller, rotated, { input, name: 'webhook' })
  const secret = webhooks.secrets.decrypt(webhook.secrets.current, merchantId)
  return { webhook, secret, replayed: rotated.verdict === 'replayed' }
}
