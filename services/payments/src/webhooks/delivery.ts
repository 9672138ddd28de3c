import { defineTask } from '@trestle/jobs/task.ts'

/** One event on its way to one webhook. */
export interface DeliveryJob {
  readonly merchantId: string
  readonly eventId: string
  readonly webhookId: string
}

const DAY_SECONDS = 86_400

/** After the first attempt twelve more: the first a minute or two later, the last a day after the one before. @see contract 20.2 */
export const deliveryTask = defineTask<DeliveryJob>('webhook_delivery', {
  retryLimit: 12,
  firstDelaySeconds: 60,
  longestDelaySeconds: DAY_SECONDS,
  timeoutSeconds: 30,
  sealed: false,
})
