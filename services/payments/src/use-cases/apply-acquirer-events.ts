import type { Counter } from '@opentelemetry/api'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { isDatabaseUnavailable, isRefusedValue, isStatementTimeout } from '@trestle/database/unavailable.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { TRUSTED_CALLER, TRUSTED_COLUMNS } from '../access/caller.ts'
import { requireObject, requireOutcome, valid } from '../access/require-access.ts'
import { type Acquirer, type AcquirerEvent, EVENTS_MAX } from '../acquirers/acquirer.ts'
import { acquirerEventsTask } from '../acquirers/acquirer-jobs.ts'
import type { Acquirers } from '../acquirers/acquirers.ts'
import {
  type AcquirerReference,
  callBookSettlement,
  findAuthorized,
  findDisputed,
  findWithheld,
  recordWaiting,
  type SettlementProblem,
} from '../acquirers/event-repository.ts'
import { callAddException, isHeldBackOrBooked } from '../acquirers/exception-repository.ts'
import type { Db } from '../database.ts'
import { DEFAULT_REASON, reasonTitle } from '../disputes/dispute.ts'
import {
  type ClosedDispute,
  callCloseDispute,
  callOpenDispute,
  type OpenedDispute,
} from '../disputes/dispute-repository.ts'
import { callAddFraud } from '../disputes/fraud-repository.ts'

type EventWorkDeps = {
  readonly db: Db
  readonly pools: Pools
  readonly jobs: Jobs
  readonly acquirers: Acquirers
  readonly logger: ServiceLogger['logger']
  readonly meter: Metrics['meter']
}

interface EventDeps {
  readonly db: Db
  readonly pools: Pools
  readonly logger: ServiceLogger['logger']
  /** Counts events by acquirer and outcome: `applied`, `kept`, `held`, `unnamed`. */
  readonly counter: Counter
}

const OUTCOMES = ['applied', 'kept', 'held', 'unnamed'] as const
/** The maximum number of lists that one job fetches. The job of the next minute fetches the remaining events. */
const LISTS_MAX = 20

/**
 * Applies the events of an acquirer, each at most once, and acknowledges them. An event that contradicts the books is stored as
 * an exception. An event that fails is not acknowledged. It blocks later events of its merchant, because their order matters, and
 * the payouts of its merchant. It does not block events of other merchants (reference: Events of an acquirer). Returns the limit
 * for the next list. This limit is larger, so that the list contains events after those that wait. Returns `undefined` if the
 * list was not full. @throws Error if the acquirer or the database is unavailable
 */
export async function applyAcquirerEvents(
  deps: EventDeps,
  {
    name,
    acquirer,
    limit,
  }: {
    readonly name: string
    readonly acquirer: Pick<Acquirer, 'events' | 'acknowledge'>
    /** The number of events to request. */
    readonly limit: number
  },
): Promise<number | undefined> {
  const { events, unnamed } = await acquirer.events(limit)
  if (unnamed > 0) {
    deps.counter.add(unnamed, { acquirer: name, outcome: 'unnamed' })
    deps.logger.error({ acquirer: name, events: unnamed }, 'events without a reference cannot be acknowledged')
  }
  const held = new Map<string, string>()
  const settled: string[] = []
  for (const event of events) {
    const outcome = held.has(event.merchantId) ? 'held' : await applyOrKeep(deps, name, event)
    deps.counter.add(1, { acquirer: name, outcome })
    if (outcome === 'held') held.set(event.merchantId, held.get(event.merchantId) ?? shortReference(event))
    else settled.push(event.reference)
  }
  await recordWaiting(deps, { acquirer: name, merchants: new Set(events.map((event) => event.merchantId)), held })
  if (settled.length > 0) await acquirer.acknowledge(settled)
  const listed = events.length + unnamed
  return listed < limit ? undefined : EVENTS_MAX + listed - settled.length
}

/** `applied`, or `kept` as an exception. `held`: neither was possible, so the acquirer lists the event again. */
async function applyOrKeep(
  deps: EventDeps,
  acquirer: string,
  event: AcquirerEvent,
): Promise<'applied' | 'kept' | 'held'> {
  try {
    const problem = await applyEvent(deps, acquirer, event).catch(toProblem)
    if (problem === undefined) return 'applied'
    await storeException(deps, acquirer, { event, problem })
    return 'kept'
  } catch (error) {
    // A statement timeout may be caused by this event only, so do not stop other events.
    if (isDatabaseUnavailable(error) && !isStatementTimeout(error)) throw error
    const reference = shortReference(event)
    deps.logger.error({ err: error, acquirer, reference }, 'an event of an acquirer failed, and is tried again')
    return 'held'
  }
}

/** Converts the error of a refused value to a problem, because the database would refuse it at every retry. */
function toProblem(error: unknown): string {
  if (isRefusedValue(error)) return 'values that the books do not take'
  throw error
}

/**
 * Applies an event. Returns why the event cannot be applied, or `undefined` if it is applied now or was applied before.
 * @throws notFound if the transaction or the dispute was deleted at the same time; Error if the database returns no outcome
 */
async function applyEvent(
  { db, pools }: Pick<EventDeps, 'db' | 'pools'>,
  acquirer: string,
  event: AcquirerEvent,
): Promise<string | undefined> {
  const { merchantId, reference: acquirerRef } = event
  switch (event.type) {
    case 'dispute.opened': {
      // Its amount is already held back or booked, and an operator decides. Opening it now would reserve the amount twice.
      if (await isHeldBackOrBooked(db, { merchantId, reference: exceptionReference(acquirer, event) })) return undefined
      const found = await findTransaction(db, { merchantId, acquirer, reference: event.acquirerRef })
      if (found.verdict !== 'found') return TRANSACTION_PROBLEMS[found.verdict]
      const reason = toReason(event.reasonCode)
      const dispute = { amount: event.amount, currency: event.currency, ...reason, acquirerRef }
      const opened = await callOpenDispute(pools, { ...TRUSTED_COLUMNS, transactionId: found.id, dispute })
      return openingProblem(requireOutcome(TRUSTED_CALLER, opened, valid(dispute)).outcome)
    }
    case 'dispute.won':
    case 'dispute.lost': {
      const dispute = await findDisputed(db, { merchantId, acquirer, reference: event.disputeReference })
      if (dispute === undefined) return 'unknown dispute'
      const outcome = event.type === 'dispute.won' ? 'won' : 'lost'
      const closed = await callCloseDispute(pools, { ...TRUSTED_COLUMNS, disputeId: dispute.id, outcome })
      return closingProblem(requireOutcome(TRUSTED_CALLER, closed, valid(outcome)).outcome)
    }
    case 'fraud': {
      const found = await findTransaction(db, { merchantId, acquirer, reference: event.acquirerRef })
      if (found.verdict !== 'found') return TRANSACTION_PROBLEMS[found.verdict]
      const fraud = { reason: event.reason, reported: event.reported, acquirerRef }
      const added = await callAddFraud(pools, { ...TRUSTED_COLUMNS, transactionId: found.id, fraud })
      requireObject(TRUSTED_CALLER, added, { input: valid(fraud), name: 'fraud' })
      return undefined
    }
    case 'unknown':
      return 'of no known kind or form'
    case 'settlement': {
      // Two acquirers may use the same reference. The name of the acquirer makes the stored reference unique.
      const settlement = { merchantId, acquirer, ...event.money, acquirerRef: `${acquirer}:${acquirerRef}` }
      const problem = await callBookSettlement(pools, settlement)
      return problem && SETTLEMENT_PROBLEMS[problem]
    }
  }
}

const TRANSACTION_PROBLEMS = {
  unknown: 'unknown transaction',
  ambiguous: 'several transactions have this reference',
} as const

type FoundTransaction =
  | { readonly verdict: 'found'; readonly id: string }
  | { readonly verdict: keyof typeof TRANSACTION_PROBLEMS }

async function findTransaction(db: EventDeps['db'], reference: AcquirerReference): Promise<FoundTransaction> {
  const found = await findAuthorized(db, reference)
  if (found === undefined) return { verdict: 'unknown' }
  return found === 'ambiguous' ? { verdict: found } : { verdict: 'found', id: found.id }
}

const OPENING_PROBLEMS = {
  'limit-exceeded': 'above the largest amount of a dispute',
  'no-rate': 'a currency that cannot be exchanged',
  'too-many-open': 'more open disputes than a test merchant may have',
} as const

function openingProblem({ verdict }: OpenedDispute): string | undefined {
  return verdict === 'opened' ? undefined : OPENING_PROBLEMS[verdict]
}

const SETTLEMENT_PROBLEMS: Readonly<Record<SettlementProblem, string>> = {
  'unknown-merchant': 'unknown merchant',
  'test-merchant': 'a test merchant has no settlements',
  'other-acquirer': 'the merchant has nothing with this acquirer',
  'unknown-currency': 'unknown currency',
  nothing: 'a settlement of nothing',
  'too-much': 'more than the captures that are not settled',
  'too-much-back': 'takes back more than was settled and refunded',
}

const closingProblem = ({ verdict }: ClosedDispute) => (verdict === 'closed' ? undefined : verdict)

function toReason(code: number | undefined): { readonly reasonCode: number; readonly reasonTitle: string } {
  const title = code === undefined ? undefined : reasonTitle(code)
  return code !== undefined && title !== undefined ? { reasonCode: code, reasonTitle: title } : DEFAULT_REASON
}

const shortReference = ({ reference }: AcquirerEvent): string => reference.slice(0, 255)

/** The outcome of a dispute may have several references. Name it after the dispute, so that payouts hold it back once. */
function exceptionReference(acquirer: string, event: AcquirerEvent): string {
  if (event.type !== 'dispute.won' && event.type !== 'dispute.lost') return `event ${acquirer}:${event.reference}`
  return `${event.type === 'dispute.won' ? 'won' : 'lost'} dispute ${acquirer}:${event.disputeReference}`
}

/** Stores an exception. If the event is about a dispute that could not be booked, payouts hold back the disputed amount. */
async function storeException(
  { db, logger }: Pick<EventDeps, 'db' | 'logger'>,
  acquirer: string,
  { event, problem }: { readonly event: AcquirerEvent; readonly problem: string },
): Promise<void> {
  const reference = shortReference(event)
  const payload = { ...event, reference, acquirer, problem }
  await callAddException(db, {
    merchantId: event.merchantId,
    reference: exceptionReference(acquirer, event),
    payload,
    disputed: await findWithheld(db, acquirer, event),
  })
  logger.error({ acquirer, reference, problem }, 'an event of an acquirer could not be applied')
}

/**
 * Applies the events of every acquirer. The job is not retried after an error, because the next job starts within a minute. The
 * next job gets the events that were not acknowledged. Events that are already applied change nothing.
 */
async function applyAllEvents(deps: EventDeps, acquirers: EventWorkDeps['acquirers']): Promise<Outcome> {
  for (const name of acquirers.names) {
    const acquirer = acquirers.find(name)
    if (!acquirer) continue
    try {
      let limit: number | undefined = EVENTS_MAX
      for (let lists = 0; limit !== undefined && lists < LISTS_MAX; lists += 1)
        limit = await applyAcquirerEvents(deps, { name, acquirer, limit })
    } catch (error) {
      // An unavailable acquirer must not delay the events of other acquirers.
      deps.logger.error({ err: error, acquirer: name }, 'the events of an acquirer could not be applied')
    }
  }
  return 'done'
}

/** Starts the job that applies the events of every acquirer every minute (reference: Events of an acquirer). */
export async function startAcquirerEvents({ jobs, acquirers, meter, ...deps }: EventWorkDeps): Promise<void> {
  const series = acquirers.names.flatMap((acquirer) => OUTCOMES.map((outcome) => ({ acquirer, outcome })))
  const counter = startAtZero(
    meter.createCounter('payments_acquirer_events_total', { description: 'Events of acquirers by outcome' }),
    series,
  )
  await jobs.work(acquirerEventsTask, () => applyAllEvents({ ...deps, counter }, acquirers))
  if (acquirers.names.length > 0) await jobs.schedule(acquirerEventsTask, '* * * * *')
}
