import { defineTask } from '@trestle/jobs/task.ts'

/** One event on its way to one webhook. */
export interface DeliveryJob {
  readonly merchantId: string
  readonly eventId: string
  readonly webhookId: string
}

const DAY_SECONDS = 86_400

/** Twelve more attempts after the first, from a minute or two to a day apart (reference: Deliveries). */
export const deliveryTask = defineTask<DeliveryJob>('webhook_delivery', {
  retryLimit: 12,
  firstDelaySeconds: 60,
  longestDelaySeconds: DAY_SECONDS,
  timeoutSeconds: 30,
  sealed: false,
})
