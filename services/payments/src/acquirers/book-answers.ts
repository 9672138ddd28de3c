import type { Lanes } from '@trestle/database/lanes.ts'
import type { Outbox } from '@trestle/jobs/outbox.ts'
import type { Db } from '../database.ts'
import { type UnsettledAttempt, updateUnknownAttempt } from '../transactions/attempt-repository.ts'
import type { AcquirerTask, TaskOutcome } from './acquirer.ts'
import { insertException } from './exception-repository.ts'
import { type ClosedOperation, callCloseOperation } from './operation-repository.ts'

/**
 * The dependencies of a booked answer: the outbox is woken for its events, and the log has an answer that
 * contradicts the books.
 */
export interface BookingDeps {
  readonly db: Db
  readonly lanes: Lanes
  readonly outbox: Pick<Outbox, 'wake'>
  readonly logger: { error(fields: object, message: string): void }
}

/** The last answer to a capture, refund or void. `unanswered`, after too long a wait, counts as rejected. */
export interface FinalAnswer {
  readonly acquirer: string
  readonly task: AcquirerTask
  readonly answer: Exclude<TaskOutcome, { verdict: 'retry' }> | { readonly verdict: 'unanswered' }
}

/** Books a final answer. An exception for the operator is stored once (reference: What is taken back). */
export async function bookFinalAnswer(
  { db, lanes, outbox, logger }: BookingDeps,
  { acquirer, task, answer }: FinalAnswer,
): Promise<void> {
  const { merchantId, operationId: id } = task
  const reason = answer.verdict === 'rejected' ? answer.reason : null
  const closed = await callCloseOperation(lanes, { merchantId, id, outcome: answer.verdict, reason })
  outbox.wake()
  const problem = problemOf(closed, answer)
  if (problem === undefined) return
  const owed = Number(closed.owed)
  const payload = { type: 'operation', ...task, acquirer, reason, problem, ...(owed === 0 ? {} : { owed }) }
  const reference = closed.verdict === 'conflict' ? `operation ${id} ${answer.verdict}` : `operation ${id}`
  const isNew = await insertException(db, { merchantId, reference, payload })
  if (isNew) logger.error({ acquirer, operation_id: id, reason, problem }, 'the acquirer did not accept an operation')
}

/** Why an operator should look at the answer; undefined when all is well. */
function problemOf({ verdict, status }: ClosedOperation, answer: FinalAnswer['answer']): string | undefined {
  if (verdict === 'conflict') return `${answer.verdict}, after it was ${status}`
  return answer.verdict === 'accepted' || verdict === 'repeated' ? undefined : answer.verdict
}

/**
 * Books the answer to the reversal of an approved attempt. False when the acquirer has not taken the reversal: a rejected one is
 * stored as an exception for the operator.
 */
export async function bookReversal(
  db: BookingDeps['db'],
  attempt: UnsettledAttempt,
  answer: TaskOutcome,
): Promise<boolean> {
  if (answer.verdict === 'retry') return false
  if (answer.verdict === 'rejected') {
    const { merchantId, id, kind, currency, amount } = attempt
    const payload = { type: 'reversal', attemptId: id, kind, currency, amount, reason: answer.reason }
    await insertException(db, { merchantId, reference: `reversal ${id}`, payload })
    return false
  }
  await updateUnknownAttempt(db, attempt, 'reversed')
  return true
}
