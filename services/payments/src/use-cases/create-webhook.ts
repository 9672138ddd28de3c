import type { Pools } from '@trestle/database/pools.ts'
import type { Caller } from '../access/caller.ts'
import { type RequestInput, requireOutcome, valuesOrNull } from '../access/require-access.ts'
import { tooManyWebhooks, webhookInside, webhookWithoutTls } from '../errors.ts'
import type { WebhookDeps } from '../webhooks/delivery.ts'
import type { EventType } from '../webhooks/event.ts'
import type { Webhook } from '../webhooks/webhook.ts'
import { callCreateWebhook } from '../webhooks/webhook-repository.ts'
import { generateWebhookSecret } from '../webhooks/webhook-secret.ts'

interface WebhookValues {
  readonly url: string
  readonly events: readonly EventType[]
}

type CreateWebhookDeps = {
  readonly pools: Pools
  readonly randomBytes: (size: number) => Buffer
  readonly webhooks: WebhookDeps
}

/** Creates a webhook (reference: Webhooks). Only this answer and the answers to idempotent requests contain the secret. */
export async function createWebhook(
  { pools, randomBytes, webhooks }: CreateWebhookDeps,
  {
    caller,
    merchantId,
    input,
  }: {
    readonly caller: Caller
    readonly merchantId: string
    readonly input: RequestInput<WebhookValues>
  },
): Promise<{ readonly webhook: Webhook; readonly secret: string; readonly replayed: boolean }> {
  const judged = refuseInside(webhooks, input)
  const encryptedSecret = webhooks.secrets.encrypt(generateWebhookSecret(randomBytes), merchantId)
  const { allowHttp } = webhooks
  const webhook = { caller, merchantId, webhook: valuesOrNull(judged), encryptedSecret, allowHttp }
  const { outcome, replayed } = requireOutcome(caller, await callCreateWebhook(pools, webhook), judged)
  switch (outcome.verdict) {
    case 'not-https':
      throw webhookWithoutTls()
    case 'too-many':
      throw tooManyWebhooks()
    case 'created': {
      const { webhook } = outcome
      return { webhook, secret: webhooks.secrets.decrypt(webhook.secrets.current, merchantId), replayed }
    }
  }
}

/**
 * Refuses an address inside a network. Only members may learn that an address is internal, so this refusal comes after the access
 * check, like refusals of a schema.
 */
function refuseInside(
  { outbound }: CreateWebhookDeps['webhooks'],
  input: RequestInput<WebhookValues>,
): RequestInput<WebhookValues> {
  if (input.verdict === 'refused' || outbound.mayCall({ url: input.values.url, origin: 'data' })) return input
  return { verdict: 'refused', problem: { stage: 'validation', error: webhookInside() } }
}
