import type { Lanes } from '@trestle/database/lanes.ts'
import type { Caller } from '../access/caller.ts'
import { nullIfRefused, type RequestInput } from '../access/request-input.ts'
import { requireAccess } from '../access/require-access.ts'
import { callDeleteWebhook } from '../webhooks/webhook-repository.ts'

/** The webhook to delete. */
export interface DeleteWebhookInput {
  readonly caller: Caller
  readonly merchantId: string
  readonly webhookId: string
  readonly input: RequestInput<unknown>
}

/**
 * Deletes a webhook and its waiting deliveries (reference: Webhooks). A request that is refused for its values deletes nothing.
 * @throws unauthorized, notFound, forbidden and the error of a refused request, as `requireAccess` throws them
 */
export async function deleteWebhook(
  { lanes }: { readonly lanes: Lanes },
  { caller, merchantId, webhookId, input }: DeleteWebhookInput,
): Promise<void> {
  const webhook = { caller, merchantId, webhookId: nullIfRefused(input, webhookId) }
  requireAccess(caller, await callDeleteWebhook(lanes, webhook), input)
}
