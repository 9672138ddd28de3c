import type { Caller } from '../access/caller.ts'
import { type Problem, requireAccess } from '../access/require-access.ts'
import type { PaymentsDeps } from '../deps.ts'
import { tooManyWebhooks, webhookInside, webhookWithoutTls } from '../errors.ts'
import type { EventType } from '../webhooks/event.ts'
import type { Webhook } from '../webhooks/webhook.ts'
import { callCreateWebhook } from '../webhooks/webhook-repository.ts'
import { drawWebhookSecret } from '../webhooks/webhook-secret.ts'

/** A new webhook; `webhook` is null when the body was refused. */
export interface CreateWebhookRequest {
  readonly caller: Caller
  readonly problem: Problem | undefined
  readonly merchantId: string
  readonly webhook: { readonly url: string; readonly events: readonly EventType[] } | null
}

type CreateWebhookDeps = Pick<PaymentsDeps, 'lanes' | 'randomBytes' | 'webhooks'>

/**
 * Makes a webhook. Only this answer and its repeats contain the secret.
 * @throws webhookInside for an address inside a network, webhookWithoutTls for http where it is not permitted, tooManyWebhooks
 * beyond ten, and what `requireAccess` throws
 */
export async function createWebhook(
  { lanes, randomBytes, webhooks }: CreateWebhookDeps,
  { caller, problem: given, merchantId, webhook: values }: CreateWebhookRequest,
): Promise<{ readonly webhook: Webhook; readonly secret: string; readonly replayed: boolean }> {
  const isInternal = values !== null && !webhooks.outbound.mayCall({ url: values.url, origin: 'data' })
  const problem = given ?? (isInternal ? { stage: 'validation', error: webhookInside() } : undefined)
  const secretSealed = webhooks.secrets.seal(drawWebhookSecret(randomBytes), merchantId)
  const input = { caller, merchantId, webhook: problem ? null : values, secretSealed, allowHttp: webhooks.allowHttp }
  const { webhook, refusal, verdict } = requireAccess(caller, await callCreateWebhook(lanes, input), problem)
  if (refusal === 'not-https') throw webhookWithoutTls()
  if (refusal === 'too-many') throw tooManyWebhooks()
  if (!webhook) throw new Error(`create_webhook answered ${verdict} without a webhook`)
  const secret = webhooks.secrets.open(webhook.secrets.current, merchantId)
  return { webhook, secret, replayed: verdict === 'replayed' }
}
