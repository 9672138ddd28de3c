import type { Pools } from '@trestle/database/pools.ts'
import type { Outbox } from '@trestle/jobs/outbox.ts'
import type { Db } from '../database.ts'
import { type UnsettledAttempt, updateUnknownAttempt } from '../transactions/attempt-repository.ts'
import type { AcquirerTask, TaskOutcome } from './acquirer.ts'
import type { Acquirers } from './acquirers.ts'
import { callAddException } from './exception-repository.ts'
import { type ClosedOperation, callCloseOperation } from './operation-repository.ts'

/**
 * The dependencies for booking an answer. The outbox is woken to send the resulting events. The logger reports answers that
 * contradict the books.
 */
export interface BookingDeps {
  readonly db: Db
  readonly pools: Pools
  readonly outbox: Pick<Outbox, 'wake'>
  readonly logger: { error(fields: object, message: string): void }
}

/** The final answer to a capture, refund or void. `unanswered`: none came in time, which counts as rejected. */
export interface FinalAnswer {
  readonly acquirer: string
  readonly task: AcquirerTask
  readonly answer: Exclude<TaskOutcome, { verdict: 'retry' }> | { readonly verdict: 'unanswered' }
}

/** Books a final answer. Stores an exception for the operator only once (reference: What is taken back). */
export async function bookFinalAnswer(
  { db, pools, outbox, logger }: BookingDeps,
  { acquirer, task, answer }: FinalAnswer,
): Promise<void> {
  const { merchantId, operationId: id } = task
  const reason = answer.verdict === 'rejected' ? answer.reason : null
  const closed = await callCloseOperation(pools, { merchantId, id, outcome: answer.verdict, reason })
  outbox.wake()
  const problem = problemOf(closed, answer)
  if (problem === undefined) return
  const owed = Number(closed.owed)
  const payload = { type: 'operation', ...task, acquirer, reason, problem, ...(owed === 0 ? {} : { owed }) }
  const reference = closed.verdict === 'conflict' ? `operation ${id} ${answer.verdict}` : `operation ${id}`
  const isNew = await callAddException(db, { merchantId, reference, payload })
  if (isNew) logger.error({ acquirer, operation_id: id, reason, problem }, 'the acquirer did not accept an operation')
}

/** Returns why an operator should look at the answer, or `undefined` if there is no problem. */
function problemOf({ verdict, status }: ClosedOperation, answer: FinalAnswer['answer']): string | undefined {
  if (verdict === 'conflict') return `${answer.verdict}, after it was ${status}`
  return answer.verdict === 'accepted' || verdict === 'repeated' ? undefined : answer.verdict
}

/**
 * Books the acquirer's answer to giving back an approved attempt. Returns `false` if the acquirer has not given back the
 * authorization. If the acquirer has rejected that, stores an exception for the operator.
 */
export async function bookGivenBack(
  db: BookingDeps['db'],
  attempt: UnsettledAttempt,
  answer: TaskOutcome,
): Promise<boolean> {
  if (answer.verdict === 'accepted') await updateUnknownAttempt(db, attempt, 'reversed')
  else await bookNotTakenBack(db, attempt, answer)
  return answer.verdict === 'accepted'
}

/**
 * Gives back an attempt that an operator has found to be approved. Returns `refused` if the acquirer has not given back the
 * authorization. If the acquirer has rejected that, also stores an exception. Returns `no-acquirer` if the acquirer is no longer
 * configured. The caller stores the state `reversed` of the attempt in the same database transaction as the row of the audit log.
 * This function calls the acquirer before that transaction begins, because the answer may take long. The acquirer gives back an
 * authorization only once for each attempt id. So a repeated call does no harm, even if the database transaction fails
 * afterwards.
 */
export async function giveBackAttempt(
  { acquirers, db }: { readonly acquirers: Pick<Acquirers, 'find'>; readonly db: BookingDeps['db'] },
  attempt: UnsettledAttempt,
): Promise<'reversed' | 'refused' | 'no-acquirer'> {
  const answer = await acquirers.find(attempt.acquirer)?.reverse(attempt.id)
  if (answer === undefined) return 'no-acquirer'
  if (answer.verdict === 'accepted') return 'reversed'
  await bookNotTakenBack(db, attempt, answer)
  return 'refused'
}

async function bookNotTakenBack(
  db: BookingDeps['db'],
  { merchantId, id, kind, currency, amount }: UnsettledAttempt,
  answer: Exclude<TaskOutcome, { verdict: 'accepted' }>,
): Promise<void> {
  if (answer.verdict === 'retry') return
  const payload = { type: 'reversal', attemptId: id, kind, currency, amount, reason: answer.reason }
  await callAddException(db, { merchantId, reference: `reversal ${id}`, payload })
}
