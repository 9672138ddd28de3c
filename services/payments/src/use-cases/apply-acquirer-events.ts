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
  /** Events by acquirer and outcome: `applied`, `kept`, `held`, `unnamed`. */
  readonly counter: Counter
}

const OUTCOMES = ['applied', 'kept', 'held', 'unnamed'] as const
/** Lists that are fetched in a row. More events wait for the next minute. */
const LISTS_MAX = 20

/**
 * Applies the events of an acquirer, each at most once, and acknowledges them. An event that contradicts the books is stored
 * as an exception. An event that fails is not acknowledged. It holds up later events of its merchant, because their order
 * matters, and its merchant's payouts, but no other events (reference: Events of an acquirer). Returns the limit of the next
 * list, which shows events behind those that wait. Undefined when the list was not full.
 * @throws Error when the acquirer or the database does not answer
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
    /** Events that are asked for. */
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

/** Applies an event (`applied`), or stores an exception (`kept`). `held`: neither was possible, so the event comes again. */
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
    // A statement may have timed out because of this event alone.
    if (isDatabaseUnavailable(error) && !isStatementTimeout(error)) throw error
    const reference = shortReference(event)
    deps.logger.error({ err: error, acquirer, reference }, 'an event of an acquirer failed, and is tried again')
    return 'held'
  }
}

/** An event with a value that the database refuses would be refused again with every try. */
function toProblem(error: unknown): string {
  if (isRefusedValue(error)) return 'values that the books do not take'
  throw error
}

/**
 * Why the event cannot be applied; undefined when it is applied, now or before.
 * @throws notFound when the transaction or the dispute went away meanwhile; Error when the database answers without an outcome
 */
async function applyEvent(
  { db, pools }: Pick<EventDeps, 'db' | 'pools'>,
  acquirer: string,
  event: AcquirerEvent,
): Promise<string | undefined> {
  const { merchantId, reference: acquirerRef } = event
  switch (event.type) {
    case 'dispute.opened': {
      // Its amount is held back or taken already, and an operator decides: opened now, it would be reserved twice.
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

/** The transaction that an event is about, or why there is none. */
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

/** The end of a dispute is named after it: an acquirer may report it under several references, and payouts hold it back once. */
function exceptionReference(acquirer: string, event: AcquirerEvent): string {
  if (event.type !== 'dispute.won' && event.type !== 'dispute.lost') return `event ${acquirer}:${event.reference}`
  return `${event.type === 'dispute.won' ? 'won' : 'lost'} dispute ${acquirer}:${event.disputeReference}`
}

/** Stores an exception. Payouts hold back what a dispute may take that the books cannot follow. */
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
 * Applies the events of every acquirer. The job is not tried again after an error, because the next one comes within a minute. It
 * gets the events that were not acknowledged, and those that were applied already change nothing.
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
      // An acquirer that does not answer must not make the others wait.
      deps.logger.error({ err: error, acquirer: name }, 'the events of an acquirer could not be applied')
    }
  }
  return 'done'
}

/** Applies the events of every acquirer, every minute (reference: Events of an acquirer). */
export async function startAcquirerEvents({ jobs, acquirers, meter, ...deps }: EventWorkDeps): Promise<void> {
  const series = acquirers.names.flatMap((acquirer) => OUTCOMES.map((outcome) => ({ acquirer, outcome })))
  const counter = startAtZero(
    meter.createCounter('payments_acquirer_events_total', { description: 'Events of acquirers by outcome' }),
    series,
  )
  await jobs.work(acquirerEventsTask, () => applyAllEvents({ ...deps, counter }, acquirers))
  if (acquirers.names.length > 0) await jobs.schedule(acquirerEventsTask, '* * * * *')
}
