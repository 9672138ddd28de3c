import type { Counter } from '@opentelemetry/api'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { type JobAttempt, type Outcome, RetryLater } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Outbox } from '@trestle/jobs/outbox.ts'
import {
  type CircuitBreakers,
  claimAttempt,
  createCircuitBreakers,
  type DeliveryJob,
  deliveryTask,
  REPLAY_SHARE_SECONDS,
  recordFailure,
  rememberTime,
  shareSecondsOf,
  type WebhookDeps,
} from '../webhooks/delivery.ts'
import {
  ANSWER_MS,
  attemptLabels,
  CANCELLATIONS,
  type DeliveryAttempt,
  GONE,
  isTimeout,
  NO_ANSWER,
  PAUSED,
  toAnsweredAttempt,
  WITHOUT_TLS,
} from '../webhooks/delivery-attempt.ts'
import { isSchemeAllowed, toDelivery } from '../webhooks/webhook.ts'
import { callDisableWebhook, type Delivery, findDelivery } from '../webhooks/webhook-repository.ts'

interface DeliverDeps {
  readonly jobs: Jobs
  readonly outbox: Outbox
  readonly pools: Pools
  readonly webhooks: WebhookDeps
  readonly now: () => Date
  readonly logger: ServiceLogger['logger']
  readonly meter: Metrics['meter']
}

interface AttemptDeps extends DeliverDeps {
  readonly attempts: Counter
  readonly circuitBreakers: CircuitBreakers
  /** Updates the priority of a merchant's waiting events by its current delivery time, in the background. */
  readonly reprioritize: (merchantId: string) => void
}

const ANSWER_BYTES_MAX = 65_536
const LATER_SECONDS_MAX = 3_600

/**
 * Delivers an event. Disables the webhook after the last failed attempt, or if it answers that it is gone. A second run delivers
 * the event again. The webhook recognizes it by the event id (reference: Deliveries).
 * @throws Error if the webhook has not accepted the event, so that the job runs again; RetryLater if the webhook names a time
 */
async function deliverEvent(
  deps: AttemptDeps,
  job: DeliveryJob,
  { attempt, addNote }: Pick<JobAttempt, 'attempt' | 'addNote'>,
): Promise<Outcome> {
  const { attempts } = deps
  const delivery = await findDelivery(deps.pools, job)
  const at = deps.now().toISOString()
  if (typeof delivery === 'string') {
    const cancelled = { error: CANCELLATIONS[delivery] }
    addNote({ at, ...cancelled } satisfies DeliveryAttempt)
    attempts.add(1, attemptLabels(cancelled))
    return 'dropped'
  }
  const { laterSeconds, ...sent } = await sendUnlessOpen(deps, job.webhookId, delivery)
  addNote({ at, ...sent } satisfies DeliveryAttempt)
  attempts.add(1, attemptLabels(sent))
  const { error: failure } = sent
  if (failure === undefined) return 'done'
  deps.logger.info(
    { merchant_id: job.merchantId, webhook_id: job.webhookId, attempt, failure },
    'webhook not delivered',
  )
  const isGone = sent.status === GONE
  if (isGone || attempt > deliveryTask.retryLimit) {
    await callDisableWebhook(deps.pools, job)
    deps.outbox.wake()
  }
  if (isGone) return 'dropped'
  throw laterSeconds === undefined ? new Error(failure) : new RetryLater(failure, laterSeconds)
}

/** The outcome of an attempt. If `error` is absent, the webhook has accepted the event. */
interface Sent extends Omit<DeliveryAttempt, 'at'> {
  /** The number of seconds after which the webhook wants the next attempt. Absent if the webhook did not state it. */
  readonly laterSeconds?: number
}

/** Sends the event, unless the circuit breaker of the webhook is open. */
async function sendUnlessOpen(deps: AttemptDeps, webhookId: string, delivery: Delivery): Promise<Sent> {
  const { circuitBreakers, now } = deps
  if (!claimAttempt(circuitBreakers, webhookId, now())) return { error: PAUSED }
  const beganMs = performance.now()
  const sent = await send(deps, delivery)
  const { merchantId } = delivery.event
  const durationMs = performance.now() - beganMs
  if (rememberTime(deps.webhooks.times, merchantId, { durationMs, now: now() })) deps.reprioritize(merchantId)
  if (isTimeout(sent)) recordFailure(circuitBreakers, webhookId, now())
  else circuitBreakers.delete(webhookId)
  return sent
}

async function send({ webhooks, now }: DeliverDeps, { event, url, test, secrets }: Delivery): Promise<Sent> {
  if (!isSchemeAllowed(url, { test, allowHttp: webhooks.allowHttp })) return { error: WITHOUT_TLS }
  const time = now()
  const encrypted = [
    secrets.current,
    ...(isLater(secrets.previousUntil, time) && secrets.previous ? [secrets.previous] : []),
  ]
  const keys = encrypted.map((each) => webhooks.secrets.decrypt(each, event.merchantId))
  try {
    const answer = await webhooks.outbound.send({
      method: 'POST',
      url,
      ...toDelivery(event, keys, time),
      timeoutMs: ANSWER_MS,
      bytesMax: ANSWER_BYTES_MAX,
      beyondMax: 'cut',
      notUtf8: 'replace',
      origin: 'data',
    })
    const later = laterSecondsOf(answer.retryAfter, time)
    return { ...toAnsweredAttempt(answer), ...(later === undefined ? {} : { laterSeconds: later }) }
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') return { error: NO_ANSWER }
    return { error: error instanceof Error && 'code' in error ? String(error.code) : String(error) }
  }
}

/** The seconds of `Retry-After`, a number or a date, at most one hour, otherwise `undefined`. @see RFC 9110, 10.2.3 */
function laterSecondsOf(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - now.getTime()) / 1_000)
  return seconds > 0 ? Math.min(seconds, LATER_SECONDS_MAX) : undefined
}

function isLater(until: Date | null, now: Date): boolean {
  return until !== null && until > now
}

/**
 * Returns a function that updates the priority of a merchant's queued events after its delivery time has changed. Otherwise the
 * old events of a slow merchant would occupy all workers. The function processes one merchant at a time, so that connections
 * remain for the workers of the queue.
 */
function createRenewal({ jobs, webhooks, logger }: DeliverDeps): AttemptDeps['reprioritize'] {
  let last = Promise.resolve()
  return (merchantId) => {
    last = last
      .then(() => {
        const shareSeconds = shareSecondsOf(webhooks.times, merchantId)
        return jobs.reprioritize({
          task: deliveryTask,
          group: merchantId,
          shareSeconds: shareSeconds,
          below: REPLAY_SHARE_SECONDS,
        })
      })
      .catch((error) => logger.warn({ err: error, merchant_id: merchantId }, 'waiting events not reprioritized'))
  }
}

export async function startDeliveries(deps: DeliverDeps): Promise<void> {
  const attempts = deps.meter.createCounter('payments_webhook_attempts_total', {
    description: 'Attempts to deliver an event, by outcome and reason',
  })
  const circuitBreakers = createCircuitBreakers()
  const reprioritize = createRenewal(deps)
  await deps.jobs.work(deliveryTask, (job, attempt) =>
    deliverEvent({ ...deps, attempts, circuitBreakers, reprioritize }, job, attempt),
  )
}
