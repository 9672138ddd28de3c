import type { Counter } from '@opentelemetry/api'
import type { JobAttempt, Outcome } from '@trestle/jobs/attempt.ts'
import type { PaymentsDeps, QueueDeps } from '../deps.ts'
import {
  createSilentWebhooks,
  type DeliveryJob,
  deliveryTask,
  isResting,
  rememberSilence,
  rememberTime,
  type SilentWebhooks,
} from '../webhooks/delivery.ts'
import { type DeliveryAttempt, toShownAnswer } from '../webhooks/delivery-attempt.ts'
import { toDelivery } from '../webhooks/webhook.ts'
import { callDisableWebhook, type Delivery, findDelivery } from '../webhooks/webhook-repository.ts'

type DeliverDeps = QueueDeps & Pick<PaymentsDeps, 'lanes' | 'webhooks' | 'now' | 'logger' | 'meter'>

interface AttemptDeps extends DeliverDeps {
  readonly deliveries: Counter
  readonly silentWebhooks: SilentWebhooks
}

const ANSWER_MS = 5_000
const ANSWER_BYTES_MAX = 65_536
const NO_ANSWER = `no answer within ${ANSWER_MS} ms`
const RESTING = 'not tried: there was no answer several times'

/**
 * Delivers an event. After the last attempt that fails, the webhook is disabled. A second run delivers the event again, and the
 * webhook knows it by the id of the event (reference: Deliveries).
 * @throws Error when the webhook has not taken the event, so that the job runs again
 */
async function deliverEvent(
  deps: AttemptDeps,
  job: DeliveryJob,
  { attempt, addNote }: Pick<JobAttempt, 'attempt' | 'addNote'>,
): Promise<Outcome> {
  const { deliveries } = deps
  const delivery = await findDelivery(deps.lanes, job)
  if (!delivery) {
    deliveries.add(1, { outcome: 'dropped' })
    return 'dropped'
  }
  const at = deps.now().toISOString()
  const sent = await sendUnlessSilent(deps, job.webhookId, delivery)
  addNote({ at, ...sent } satisfies DeliveryAttempt)
  const { error: failure } = sent
  deliveries.add(1, { outcome: failure === undefined ? 'delivered' : 'failed' })
  if (failure === undefined) return 'done'
  deps.logger.info(
    { merchant_id: job.merchantId, webhook_id: job.webhookId, attempt, failure },
    'webhook not delivered',
  )
  if (attempt > deliveryTask.retryLimit) {
    await callDisableWebhook(deps.lanes, job)
    deps.outbox.wake()
  }
  throw new Error(failure)
}

/** The outcome of an attempt. Without `error` the webhook has taken the event. */
type Sent = Omit<DeliveryAttempt, 'at'>

/** Sends the event, unless its webhook rests. */
async function sendUnlessSilent(deps: AttemptDeps, webhookId: string, delivery: Delivery): Promise<Sent> {
  const { silentWebhooks, now } = deps
  if (isResting(silentWebhooks, webhookId, now())) return { error: RESTING }
  const beganMs = performance.now()
  const sent = await send(deps, delivery)
  rememberTime(deps.webhooks.times, delivery.event.merchantId, performance.now() - beganMs)
  if (sent.error === NO_ANSWER) rememberSilence(silentWebhooks, webhookId, now())
  else silentWebhooks.delete(webhookId)
  return sent
}

async function send({ webhooks, now }: DeliverDeps, { event, url, secrets }: Delivery): Promise<Sent> {
  const time = now()
  const sealed = [
    secrets.current,
    ...(isLater(secrets.previousUntil, time) && secrets.previous ? [secrets.previous] : []),
  ]
  const keys = sealed.map((each) => webhooks.secrets.open(each, event.merchantId))
  try {
    const { status, body } = await webhooks.outbound.send({
      method: 'POST',
      url,
      ...toDelivery(event, keys, time),
      timeoutMs: ANSWER_MS,
      bytesMax: ANSWER_BYTES_MAX,
      beyondMax: 'cut',
      origin: 'data',
    })
    const answered = { status, answer: toShownAnswer(body) }
    const failure = status >= 200 && status < 300 ? undefined : `answered ${status}`
    return failure === undefined ? answered : { ...answered, error: failure }
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') return { error: NO_ANSWER }
    return { error: error instanceof Error && 'code' in error ? String(error.code) : String(error) }
  }
}

function isLater(until: Date | null, now: Date): boolean {
  return until !== null && until > now
}

/** Takes deliveries from the queue while the process runs. */
export async function startDeliveries(deps: DeliverDeps): Promise<void> {
  const deliveries = deps.meter.createCounter('payments_webhook_deliveries_total', {
    description: 'Attempts to deliver an event, by outcome',
  })
  const silentWebhooks = createSilentWebhooks()
  await deps.jobs.work(deliveryTask, (job, attempt) =>
    deliverEvent({ ...deps, deliveries, silentWebhooks }, job, attempt),
  )
}
