import { createOutbound, type Outbound } from '@trestle/common/outbound/outbound.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import { LRUCache } from 'lru-cache'
import { ANSWER_MS } from './delivery-attempt.ts'
import type { WebhookSecrets } from './webhook-secret.ts'

/** One event on its way to one webhook. */
export interface DeliveryJob {
  readonly merchantId: string
  readonly eventId: string
  readonly webhookId: string
}

const DAY_SECONDS = 86_400

/** When the delivery of a dead-letter job was sent to the queue. SQL that lists and their indexes share. */
export const FIRST_CREATED = 'coalesce(source_created_on, created_on)'
/** The id of the first job. A job that follows a dead one has it too. */
export const ROOT_ID = 'coalesce(source_root_id, id)'
/**
 * Whether nobody has put a dead-letter job back. The indexes of dead-letter jobs have this condition, and PostgreSQL learns by
 * them that it holds for nearly all.
 */
export const IS_DEAD = "state = 'created'"
/** Whether the delivery of a job waits, for its first attempt or another one, or is being sent. */
const IS_OPEN = "state IN ('created', 'retry', 'active')"
/** Whether nothing is left to do for the delivery of a job. */
export const HAS_ENDED = "state = 'completed'"
/** How the job of a delivery has ended: `done`, or `dropped` if the delivery was cancelled. */
export const OUTCOME = "output ->> 'outcome'"

/**
 * At most twelve more attempts after the first. The delay grows from a minute or two to a day (reference: Deliveries).
 */
export const deliveryTask = defineTask<DeliveryJob>('webhook_delivery', {
  retryLimit: 12,
  firstDelaySeconds: 60,
  delaySecondsMax: DAY_SECONDS,
  timeoutSeconds: 30,
  // A webhook may take five seconds, and a delivery that waits costs a connection, so there are many places. Where slow
  // webhooks hold all of them, the next free one gets the event of a merchant without a backlog.
  groups: { jobsMax: 512, groupJobsMax: 8 },
  // The queue has an index of all its jobs by their time, which serves the list without a filter. The indexes of a merchant and
  // of a webhook have the whole order of a page. Otherwise PostgreSQL 15 would sort all jobs where it expects few. The index
  // of an outcome also has what a list filters by, because a filter that reads a job reads its notes too, up to 300 kB.
  indexes: [
    { name: 'webhook_delivery_merchant_idx', of: 'jobs', columns: `(data ->> 'merchantId'), created_on, ${ROOT_ID}` },
    { name: 'webhook_delivery_webhook_idx', of: 'jobs', columns: `(data ->> 'webhookId'), created_on, ${ROOT_ID}` },
    { name: 'webhook_delivery_open_idx', of: 'jobs', columns: 'state, created_on', where: IS_OPEN },
    {
      name: 'webhook_delivery_ended_idx',
      of: 'jobs',
      columns: `(${OUTCOME}), created_on, ${ROOT_ID}, (data ->> 'merchantId'), (data ->> 'webhookId')`,
      where: HAS_ENDED,
    },
    { name: 'webhook_delivery_dead_idx', of: 'dead-letter jobs', columns: FIRST_CREATED, where: IS_DEAD },
    {
      name: 'webhook_delivery_dead_merchant_idx',
      of: 'dead-letter jobs',
      columns: `(data ->> 'merchantId'), ${FIRST_CREATED}, ${ROOT_ID}`,
      where: IS_DEAD,
    },
    {
      name: 'webhook_delivery_dead_webhook_idx',
      of: 'dead-letter jobs',
      columns: `(data ->> 'webhookId'), ${FIRST_CREATED}, ${ROOT_ID}`,
      where: IS_DEAD,
    },
  ],
})

/**
 * The seconds of an event's share for each second of its delivery. A slow event waits until its share ends, and quick events go
 * first meanwhile. The number is large so that a slow event waits long enough. With it, 512 deliveries at once keep up with the
 * shares of 600,000 backlogs.
 */
const TURN_SHARE = 1_200
const SHORTEST_SHARE_SECONDS = 64
/**
 * The share of an event that an operator sends again: longer than any other, so that it delays no new event of another
 * merchant.
 */
export const REPLAY_SHARE_SECONDS = 30_000

/** The dependencies of a delivery: the way out, the secrets that sign it, the rule for TLS, and the memory of times. */
export interface WebhookDeps {
  readonly outbound: Outbound
  readonly secrets: WebhookSecrets
  /** Whether events of test merchants may be sent without TLS. */
  readonly allowHttp: boolean
  readonly times: DeliveryTimes
}

/** Creates the dependencies of all deliveries of this process. `allowedHosts`: of the operator's own network. */
export function openWebhooks(
  { allowedHosts, allowHttp }: { readonly allowedHosts: readonly string[]; readonly allowHttp: boolean },
  secrets: WebhookSecrets,
): WebhookDeps {
  return { outbound: createOutbound(allowedHosts), secrets, allowHttp, times: createDeliveryTimes() }
}

/** How long deliveries take, by the id of the merchant. */
export type DeliveryTimes = LRUCache<string, DeliveryTime>

interface DeliveryTime {
  readonly count: number
  /** A mean that forgets slowly, so that a few quick deliveries do not hide a slow one. */
  readonly meanMs: number
  /** When the waiting events of the merchant last got new shares, and how long. */
  readonly renewedAtMs: number
  readonly shareSeconds: number
}

/** The share of the last delivery in the mean. The first deliveries count alike. */
const LAST_SHARE = 0.05
/** How long waiting events may have shares that are longer than those of new ones. */
const RENEWAL_MS = 30_000
const MERCHANTS_MAX = 10_000

/** Makes the memory of delivery times. It is bounded, and each process has its own. */
export function createDeliveryTimes(): DeliveryTimes {
  return new LRUCache({ max: MERCHANTS_MAX })
}

/**
 * The share of each event of a merchant, in seconds: a power of two, so that the events of one merchant
 * share few lengths. A merchant whom the process has not served yet has the longest: a burst of new ones with slow
 * webhooks delays no others.
 */
export function shareSecondsOf(times: DeliveryTimes, merchantId: string): number {
  return toShareSeconds(times.get(merchantId)?.meanMs ?? ANSWER_MS)
}

function toShareSeconds(meanMs: number): number {
  const seconds = (Math.min(meanMs, ANSWER_MS) / 1_000) * TURN_SHARE
  return Math.max(SHORTEST_SHARE_SECONDS, 2 ** Math.ceil(Math.log2(seconds)))
}

/**
 * Remembers how long a delivery of a merchant took.
 * @returns whether its waiting events should get new shares: shares have become longer, or the last ones are half a minute old
 */
export function rememberTime(
  times: DeliveryTimes,
  merchantId: string,
  { durationMs, now }: { readonly durationMs: number; readonly now: Date },
): boolean {
  const before = times.get(merchantId)
  const { count, meanMs } = toMean(before, durationMs)
  const shareSeconds = toShareSeconds(meanMs)
  const isKept =
    before !== undefined && shareSeconds <= before.shareSeconds && now.getTime() < before.renewedAtMs + RENEWAL_MS
  times.set(
    merchantId,
    isKept ? { ...before, count, meanMs } : { count, meanMs, shareSeconds, renewedAtMs: now.getTime() },
  )
  return !isKept
}

function toMean(
  { count, meanMs }: Pick<DeliveryTime, 'count' | 'meanMs'> = { count: 0, meanMs: 0 },
  durationMs: number,
) {
  const share = Math.max(LAST_SHARE, 1 / (count + 1))
  return { count: count + 1, meanMs: meanMs + share * (durationMs - meanMs) }
}

/** The circuit breakers of the webhooks that did not answer the last deliveries of this process, by their id. */
export type CircuitBreakers = LRUCache<string, CircuitBreaker>

interface CircuitBreaker {
  /** Deliveries in a row without an answer. */
  readonly failures: number
  readonly openUntilMs: number
}

/** After so many failures in a row the circuit breaker opens. */
const FAILURES_MAX = 3
const FIRST_OPEN_MS = 10_000
const OPEN_MS_MAX = 300_000
/** The longest time that a circuit breaker is half-open: one delivery is under way, and no other is let through. */
const HALF_OPEN_MS = 5_000
const CIRCUIT_BREAKERS_MAX = 10_000

/** Creates the circuit breakers of a process. Their number is bounded. */
export function createCircuitBreakers(): CircuitBreakers {
  return new LRUCache({ max: CIRCUIT_BREAKERS_MAX })
}

/**
 * Claims an attempt to deliver to a webhook. A delivery that gets no answer holds its worker for five seconds. Without circuit
 * breakers, a few such webhooks would keep all workers busy, and the events of every merchant would be late. After the time of
 * an open circuit breaker only the first claim gets an attempt. It shows whether the webhook answers again.
 * @returns false while the circuit breaker is open or half-open
 */
export function claimAttempt(breakers: CircuitBreakers, webhookId: string, now: Date): boolean {
  const breaker = breakers.get(webhookId)
  if (breaker === undefined || breaker.failures < FAILURES_MAX) return true
  if (now.getTime() < breaker.openUntilMs) return false
  breakers.set(webhookId, { ...breaker, openUntilMs: now.getTime() + HALF_OPEN_MS })
  return true
}

/** Records that a webhook did not answer a delivery in time. The circuit breaker stays open longer with each failure. */
export function recordFailure(breakers: CircuitBreakers, webhookId: string, now: Date): void {
  const failures = (breakers.get(webhookId)?.failures ?? 0) + 1
  const openMs = Math.min(FIRST_OPEN_MS * 2 ** Math.max(0, failures - FAILURES_MAX), OPEN_MS_MAX)
  breakers.set(webhookId, { failures, openUntilMs: now.getTime() + openMs })
}
