import { isRefusedValue } from '@trestle/database/unavailable.ts'
import type { Outcome } from '@trestle/jobs/jobs.ts'
import { OPERATOR } from '../access/caller.ts'
import type { Acquirer, AcquirerEvent } from '../acquirers/acquirer.ts'
import {
  callSettleScheme,
  findAuthorized,
  findDisputed,
  type SettlementProblem,
} from '../acquirers/event-repository.ts'
import { acquirerEventsTask } from '../acquirers/event-task.ts'
import type { ProcessDeps } from '../deps.ts'
import { DEFAULT_REASON_CODE, reasonTitle } from '../disputes/dispute.ts'
import { callCloseDispute, callOpenDispute } from '../disputes/dispute-repository.ts'
import { insertException } from '../exceptions/exception-repository.ts'
import { callAddFraud } from '../frauds/fraud-repository.ts'

type EventDeps = Pick<ProcessDeps, 'db' | 'lanes' | 'jobs' | 'acquirers' | 'logger'>

/** Asks every acquirer for news, every minute. Without acquirers there is nobody to ask. */
export async function workOnAcquirerEvents(deps: EventDeps): Promise<void> {
  await deps.jobs.work(acquirerEventsTask, () => applyAllEvents(deps))
  if (deps.acquirers.names.length > 0) await deps.jobs.schedule(acquirerEventsTask, '* * * * *')
}

async function applyAllEvents(deps: EventDeps): Promise<Outcome> {
  for (const name of deps.acquirers.names) {
    const acquirer = deps.acquirers.find(name)
    // One that is away must not keep the others waiting.
    await (acquirer && applyAcquirerEvents(deps, name, acquirer))?.catch((error: unknown) => {
      deps.logger.warn({ err: error, acquirer: name }, 'the events of an acquirer could not be applied')
    })
  }
  return 'done'
}

/**
 * Applies what an acquirer has to tell, each event at most once, and acknowledges it. What our books cannot follow is kept
 * for the operator. @see contract 13, 19
 */
export async function applyAcquirerEvents(
  deps: Pick<EventDeps, 'db' | 'lanes' | 'logger'>,
  name: string,
  acquirer: Pick<Acquirer, 'events' | 'acknowledge'>,
): Promise<void> {
  const events = await acquirer.events()
  for (const event of events) {
    const problem = await applyEvent(deps, name, event).catch(toProblem)
    if (problem !== undefined) await keepException(deps, name, { event, problem })
  }
  if (events.length > 0) await acquirer.acknowledge(events.map(({ reference }) => reference))
}

/** Values that the books do not take would be refused for ever, and hold up all that comes after them. */
function toProblem(error: unknown): string {
  if (isRefusedValue(error)) return 'values that the books do not take'
  throw error
}

/** What stands in the way, or undefined when the event is applied, now or before. */
async function applyEvent(
  { db, lanes }: Pick<EventDeps, 'db' | 'lanes'>,
  acquirer: string,
  event: AcquirerEvent,
): Promise<string | undefined> {
  const { merchantId } = event
  // Two acquirers may count alike: each has references of its own.
  const acquirerRef = `${acquirer}:${event.reference}`
  switch (event.type) {
    case 'dispute.opened': {
      const transactionId = await findAuthorized(db, { merchantId, acquirer, reference: event.acquirerRef })
      if (transactionId === undefined) return 'unknown transaction'
      const reason = toReason(event.reasonCode)
      const dispute = { amount: event.amount, ...reason, acquirerRef }
      const { limit } = await callOpenDispute(lanes, { ...OPERATOR, transactionId, dispute })
      return limit && `more than the ${limit.amount} that can be disputed`
    }
    case 'dispute.won':
    case 'dispute.lost': {
      const disputeId = await findDisputed(db, merchantId, `${acquirer}:${event.disputeReference}`)
      if (disputeId === undefined) return 'unknown dispute'
      const outcome = event.type === 'dispute.won' ? 'won' : 'lost'
      return (await callCloseDispute(lanes, { ...OPERATOR, disputeId, outcome })).refusal
    }
    case 'fraud': {
      const transactionId = await findAuthorized(db, { merchantId, acquirer, reference: event.acquirerRef })
      if (transactionId === undefined) return 'unknown transaction'
      const fraud = { reason: event.reason, reported: event.reported, acquirerRef }
      await callAddFraud(lanes, { ...OPERATOR, transactionId, fraud })
      return undefined
    }
    case 'unknown':
      return 'of no known kind or form'
    case 'settlement':
      return textOf(await callSettleScheme(lanes, { merchantId, acquirer, ...event.money, acquirerRef }))
  }
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

function textOf(problem: SettlementProblem | undefined): string | undefined {
  return problem && SETTLEMENT_PROBLEMS[problem]
}

function toReason(code: number | undefined): { readonly reasonCode: number; readonly reasonTitle: string } {
  const title = code === undefined ? undefined : reasonTitle(code)
  return code !== undefined && title !== undefined
    ? { reasonCode: code, reasonTitle: title }
    : { reasonCode: DEFAULT_REASON_CODE, reasonTitle: reasonTitle(DEFAULT_REASON_CODE) ?? '' }
}

async function keepException(
  { db, logger }: Pick<EventDeps, 'db' | 'logger'>,
  acquirer: string,
  { event, problem }: { readonly event: AcquirerEvent; readonly problem: string },
): Promise<void> {
  const { merchantId, reference } = event
  const payload = { ...event, acquirer, problem }
  await insertException(db, { merchantId, reference: `event ${acquirer}:${reference}`, payload })
  logger.error({ acquirer, reference, problem }, 'an event of an acquirer could not be applied')
}
