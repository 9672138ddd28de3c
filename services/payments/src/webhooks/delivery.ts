import { createOutbound, type Outbound } from '@trestle/common/outbound/outbound.ts'
import { defineTask } from '@trestle/jobs/task.ts'
import { LRUCache } from 'lru-cache'
import { ANSWER_MS } from './delivery-attempt.ts'
import type { WebhookSecrets } from './webhook-secret.ts'

/** The job that sends one event to one webhook. */
export interface DeliveryJob {
  readonly merchantId: string
  readonly eventId: string
  readonly webhookId: string
}

const DAY_SECONDS = 86_400

/** The time when the delivery of a dead-letter job was first sent to the queue. Lists and their indexes share this SQL. */
export const FIRST_CREATED = 'coalesce(source_created_on, created_on)'
/** The id of the first job of a delivery. The dead-letter job that follows keeps it. */
export const ROOT_ID = 'coalesce(source_root_id, id)'
/**
 * A condition: a dead-letter job has not been put back. The indexes of dead-letter jobs have this condition. Their statistics
 * show PostgreSQL that nearly all dead-letter jobs fulfil it.
 */
export const IS_DEAD = "state = 'created'"
/** A condition: the delivery waits for an attempt, or an attempt is running. */
const IS_OPEN = "state IN ('created', 'retry', 'active')"
/** A condition: the delivery has ended. */
export const HAS_ENDED = "state = 'completed'"
/** The outcome of an ended delivery: `done`, or `dropped` if the delivery was cancelled. */
export const OUTCOME = "output ->> 'outcome'"

/** At most twelve attempts follow the first one. The delay grows from a minute or two to a day (reference: Deliveries). */
export const deliveryTask = defineTask<DeliveryJob>('webhook_delivery', {
  retryLimit: 12,
  firstDelaySeconds: 60,
  delaySecondsMax: DAY_SECONDS,
  timeoutSeconds: 30,
  // A webhook may take five seconds to answer, and a waiting delivery costs only a connection, so many deliveries run at the same
  // time. If slow webhooks occupy all slots, the next free slot goes to a merchant without a backlog.
  groups: { jobsMax: 512, groupJobsMax: 8 },
  // The queue already has an index of all its jobs by time, for the list without a filter. The indexes by merchant and webhook
  // contain the complete order of a page. Otherwise PostgreSQL 15 would sort all jobs if it expects few. The index by outcome
  // also contains the filtered columns, because a filter that reads a job also reads its notes of up to 300 kB.
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
 * Seconds of fair share for each second of delivery time. A slow event waits until its share ends, and fast events go first in
 * the meantime. The factor is large so that slow events wait long enough. With this factor, 512 concurrent deliveries keep up
 * with the shares of 600,000 backlogs.
 */
const TURN_SHARE = 1_200
const SHORTEST_SHARE_SECONDS = 64
/**
 * The share of an event that an operator sends again, in seconds. It is longer than any other share, so the event delays no new
 * event of another merchant.
 */
export const REPLAY_SHARE_SECONDS = 30_000

/** The dependencies of a delivery: the HTTP client, the signing secrets, the TLS rule, and the recorded delivery times. */
export interface WebhookDeps {
  readonly outbound: Outbound
  readonly secrets: WebhookSecrets
  /** Whether events of test merchants may be sent without TLS. */
  readonly allowHttp: boolean
  readonly times: DeliveryTimes
}

/** Creates the dependencies of all deliveries. `allowedHosts` are internal hosts that may receive events. */
export function openWebhooks(
  { allowedHosts, allowHttp }: { readonly allowedHosts: readonly string[]; readonly allowHttp: boolean },
  secrets: WebhookSecrets,
): WebhookDeps {
  return { outbound: createOutbound(allowedHosts), secrets, allowHttp, times: createDeliveryTimes() }
}

/** The delivery times of merchants, by merchant id. */
export type DeliveryTimes = LRUCache<string, DeliveryTime>

interface DeliveryTime {
  readonly count: number
  /** A moving average in milliseconds that changes slowly, so that a few fast deliveries do not hide a slow one. */
  readonly meanMs: number
  /** The time when the waiting events of the merchant last got new shares. `shareSeconds` is the length of these shares. */
  readonly renewedAtMs: number
  readonly shareSeconds: number
}

/** The weight of the newest delivery in the average, after the first deliveries. Until then all deliveries weigh the same. */
const LAST_SHARE = 0.05
/** The longest time in which waiting events may keep longer shares than new events. */
const RENEWAL_MS = 30_000
const MERCHANTS_MAX = 10_000

/** Creates the record of delivery times. Its size is limited, and each process has its own. */
export function createDeliveryTimes(): DeliveryTimes {
  return new LRUCache({ max: MERCHANTS_MAX })
}

/**
 * Returns the share of each event of a merchant, in seconds. It is a power of two, so that the events of a merchant have few
 * different shares. A merchant that this process has not served yet gets the longest share. So many new merchants with slow
 * webhooks do not delay others.
 */
export function shareSecondsOf(times: DeliveryTimes, merchantId: string): number {
  return toShareSeconds(times.get(merchantId)?.meanMs ?? ANSWER_MS)
}

function toShareSeconds(meanMs: number): number {
  const seconds = (Math.min(meanMs, ANSWER_MS) / 1_000) * TURN_SHARE
  return Math.max(SHORTEST_SHARE_SECONDS, 2 ** Math.ceil(Math.log2(seconds)))
}

/**
 * Records how long a delivery of a merchant took.
 * @returns whether to renew the shares of its waiting events, because shares have become longer or were set half a minute ago
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

/** The circuit breakers of this process, by webhook id. A webhook has one if it did not answer the last deliveries. */
export type CircuitBreakers = LRUCache<string, CircuitBreaker>

interface CircuitBreaker {
  /** The number of consecutive deliveries without an answer. */
  readonly failures: number
  readonly openUntilMs: number
}

/** The number of consecutive failures after which the circuit breaker opens. */
const FAILURES_MAX = 3
const FIRST_OPEN_MS = 10_000
const OPEN_MS_MAX = 300_000
/** The longest time that a circuit breaker is half-open. In this time one delivery is running, and no other may start. */
const HALF_OPEN_MS = 5_000
const CIRCUIT_BREAKERS_MAX = 10_000

/** Creates the circuit breakers of a process. Their number is limited. */
export function createCircuitBreakers(): CircuitBreakers {
  return new LRUCache({ max: CIRCUIT_BREAKERS_MAX })
}

/**
 * Claims an attempt to deliver to a webhook. A delivery without an answer occupies its worker for five seconds. Without circuit
 * breakers, a few such webhooks would occupy all workers and delay the events of every merchant. After the time of an open
 * circuit breaker, only the first claim gets an attempt, which tests whether the webhook answers again.
 * @returns `false` while the circuit breaker is open or half-open
 */
export function claimAttempt(breakers: CircuitBreakers, webhookId: string, now: Date): boolean {
  const breaker = breakers.get(webhookId)
  if (breaker === undefined || breaker.failures < FAILURES_MAX) return true
  if (now.getTime() < breaker.openUntilMs) return false
  breakers.set(webhookId, { ...breaker, openUntilMs: now.getTime() + HALF_OPEN_MS })
  return true
}

/** Records that a webhook did not answer a delivery in time. With each failure, the circuit breaker stays open longer. */
export function recordFailure(breakers: CircuitBreakers, webhookId: string, now: Date): void {
  const failures = (breakers.get(webhookId)?.failures ?? 0) + 1
  const openMs = Math.min(FIRST_OPEN_MS * 2 ** Math.max(0, failures - FAILURES_MAX), OPEN_MS_MAX)
  breakers.set(webhookId, { failures, openUntilMs: now.getTime() + openMs })
}
