import { type Asked, valuesOrNull } from '../access/asked.ts'
import type { Caller } from '../access/caller.ts'
import { requireOutcome } from '../access/require-access.ts'
import type { PaymentsDeps } from '../deps.ts'
import { tooManyWebhooks, webhookInside, webhookWithoutTls } from '../errors.ts'
import type { EventType } from '../webhooks/event.ts'
import type { Webhook } from '../webhooks/webhook.ts'
import { callCreateWebhook } from '../webhooks/webhook-repository.ts'
import { drawWebhookSecret } from '../webhooks/webhook-secret.ts'

/** A new webhook. */
export interface CreateWebhookRequest {
  readonly caller: Caller
  readonly merchantId: string
  readonly asked: Asked<WebhookValues>
}

interface WebhookValues {
  readonly url: string
  readonly events: readonly EventType[]
}

type CreateWebhookDeps = Pick<PaymentsDeps, 'lanes' | 'randomBytes' | 'webhooks'>

/**
 * Makes a webhook (reference: Webhooks). Only this answer and its repeats contain the secret.
 * @throws webhookInside for an address inside a network, webhookWithoutTls for http where it is not permitted, tooManyWebhooks
 * beyond ten, and what `requireOutcome` throws
 */
export async function createWebhook(
  { lanes, randomBytes, webhooks }: CreateWebhookDeps,
  { caller, merchantId, asked: given }: CreateWebhookRequest,
): Promise<{ readonly webhook: Webhook; readonly secret: string; readonly replayed: boolean }> {
  const asked = refuseInside(webhooks, given)
  const secretSealed = webhooks.secrets.seal(drawWebhookSecret(randomBytes), merchantId)
  const input = { caller, merchantId, webhook: valuesOrNull(asked), secretSealed, allowHttp: webhooks.allowHttp }
  const { outcome, replayed } = requireOutcome(caller, await callCreateWebhook(lanes, input), asked)
  switch (outcome.verdict) {
    case 'not-https':
      throw webhookWithoutTls()
    case 'too-many':
      throw tooManyWebhooks()
    case 'created': {
      const { webhook } = outcome
      return { webhook, secret: webhooks.secrets.open(webhook.secrets.current, merchantId), replayed }
    }
  }
}

/** Only members hear that an address is inside a network, so this refusal waits for the judgement of access as those of a schema do. */
function refuseInside({ outbound }: CreateWebhookDeps['webhooks'], asked: Asked<WebhookValues>): Asked<WebhookValues> {
  if (asked.verdict === 'refused' || outbound.mayCall({ url: asked.values.url, origin: 'data' })) return asked
  return { verdict: 'refused', problem: { stage: 'validation', error: webhookInside() } }
}
