import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { refuseMissing } from '../access/require-access.ts'
import type { Db } from '../database.ts'
import { deliveryObsolete } from '../operator-errors.ts'
import { type OperatorAnswer, type OperatorChange, runOperatorChange } from '../operators/operator-change-repository.ts'
import { deliveryTask, REPLAY_SHARE_SECONDS } from '../webhooks/delivery.ts'
import { callEnableWebhook, findDeliveryJob } from '../webhooks/delivery-repository.ts'
import { viewDelivery } from '../webhooks/delivery-view.ts'

/**
 * Sends the event of a delivery to its webhook again, for an operator, as a new delivery. A disabled webhook becomes enabled
 * (console reference: Routes of payments). The receiver recognizes the event by its id.
 *
 * Lock order: the webhook.
 * @throws notFound, deliveryObsolete if the webhook is deleted or the event too old, idempotencyKeyReused
 */
export async function replayDelivery(
  { operatorDb, names, jobs }: { readonly operatorDb: Db; readonly names: Names; readonly jobs: Jobs },
  {
    change,
    id,
  }: {
    readonly change: OperatorChange
    /** Empty if the id in the request cannot be the id of a delivery. */
    readonly id: string
  },
): Promise<OperatorAnswer> {
  if (id === '') refuseMissing()
  return runOperatorChange(operatorDb, change, async (trx) => {
    const replayed = (await findDeliveryJob(trx, names.jobSchema, id)) ?? refuseMissing()
    const { merchantId, eventId, webhookId, type } = replayed
    if (type === null) refuseObsolete()
    const options = { group: merchantId, shareSeconds: REPLAY_SHARE_SECONDS }
    const job = await jobs.send(trx, deliveryTask, { merchantId, eventId, webhookId }, options)
    const delivery = await findDeliveryJob(trx, names.jobSchema, job)
    if (delivery === undefined) throw new Error(`the queue has no job ${job}`)
    // Change last: a cluster refuses to read rows that an owner's function has written in the same transaction.
    if (!(await callEnableWebhook(trx, replayed))) refuseObsolete()
    return {
      answer: { delivery: viewDelivery(delivery) },
      object: { kind: 'delivery', id },
      merchantId,
      changes: { webhookId, eventId, delivery: job },
    }
  })
}

/** Refuses a delivery that cannot be sent again. @throws deliveryObsolete */
function refuseObsolete(): never {
  throw deliveryObsolete()
}
