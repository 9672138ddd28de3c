import type { Lanes } from '@trestle/database/lanes.ts'
import type { Asked } from '../access/asked.ts'
import type { Caller } from '../access/caller.ts'
import { requireAccess } from '../access/require-access.ts'
import { callDeleteWebhook } from '../webhooks/webhook-repository.ts'

/** The webhook to delete. */
export interface DeleteWebhookRequest {
  readonly caller: Caller
  readonly merchantId: string
  readonly webhookId: string
  readonly asked: Asked<unknown>
}

/**
 * Deletes a webhook and its waiting deliveries (reference: Webhooks). A request that is refused for its values deletes nothing.
 * @throws what `requireAccess` throws
 */
export async function deleteWebhook(
  { lanes }: { readonly lanes: Lanes },
  { caller, merchantId, webhookId, asked }: DeleteWebhookRequest,
): Promise<void> {
  const named = { caller, merchantId, webhookId: asked.verdict === 'refused' ? null : webhookId }
  requireAccess(caller, await callDeleteWebhook(lanes, named), asked)
}
