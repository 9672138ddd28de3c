import type { Outcome } from '@trestle/jobs/jobs.ts'
import type { TaskOutcome } from '../acquirers/acquirer.ts'
import { insertException } from '../acquirers/exception-repository.ts'
import { findUnknownAttempt, type UnsettledAttempt, updateUnknownAttempt } from '../attempts/attempt-repository.ts'
import { type InquiryJob, inquiryDelaySeconds, inquiryTask } from '../attempts/inquiry-task.ts'
import type { ProcessDeps } from '../deps.ts'

type InquiryDeps = Pick<ProcessDeps, 'db' | 'jobs' | 'acquirers' | 'logger'>

/** Has every unknown attempt asked about until it is settled. */
export function workOnInquiries(deps: InquiryDeps): Promise<void> {
  return deps.jobs.work(inquiryTask, (job) => inquireAttempt(deps, job))
}

/**
 * Asks what became of an attempt, and reverses an approval that nobody was told of. While nobody knows, it asks again later;
 * in the end the operator decides (reference: Attempts).
 */
export async function inquireAttempt(deps: InquiryDeps, job: InquiryJob): Promise<Outcome> {
  const attempt = await findUnknownAttempt(deps.db, job)
  if (!attempt) return 'dropped'
  const isSettled = job.step !== undefined && (await settleAttempt(deps, attempt))
  if (!isSettled) await askLater(deps, job)
  return 'done'
}

/** Asks the acquirer, and writes down what it knows. False while it knows nothing. */
async function settleAttempt(
  deps: Pick<InquiryDeps, 'db' | 'acquirers' | 'logger'>,
  attempt: UnsettledAttempt,
): Promise<boolean> {
  const acquirer = deps.acquirers.find(attempt.acquirer)
  const orUnanswered = (error: unknown): undefined => {
    deps.logger.warn({ err: error, acquirer: attempt.acquirer, attempt_id: attempt.id }, 'the acquirer did not answer')
  }
  const outcome = await acquirer?.inquire(attempt.id).catch(orUnanswered)
  switch (outcome?.verdict) {
    case 'approved': {
      const reversed = await acquirer?.reverse(attempt.id).catch(orUnanswered)
      return reversed !== undefined && noteReversal(deps.db, attempt, reversed)
    }
    case 'declined':
      await updateUnknownAttempt(deps.db, attempt, 'declined')
      return true
    default:
      return false
  }
}

/**
 * Writes down what came of giving an approval back. False when the acquirer did not take it; what it refuses for good is kept
 * for the operator.
 */
export async function noteReversal(
  db: InquiryDeps['db'],
  attempt: UnsettledAttempt,
  reversed: TaskOutcome,
): Promise<boolean> {
  if (reversed.verdict === 'retry') return false
  if (reversed.verdict === 'rejected') {
    const { merchantId, id, kind, currency, amount } = attempt
    const payload = { type: 'reversal', attemptId: id, kind, currency, amount, reason: reversed.reason }
    await insertException(db, { merchantId, reference: `reversal ${id}`, payload })
    return false
  }
  await updateUnknownAttempt(db, attempt, 'reversed')
  return true
}

async function askLater({ db, jobs, logger }: InquiryDeps, { merchantId, id, step = -1 }: InquiryJob): Promise<void> {
  const next = step + 1
  const startAfterSeconds = inquiryDelaySeconds(next)
  if (startAfterSeconds === undefined) logger.error({ attempt_id: id }, 'the outcome of an attempt is unknown for good')
  else await jobs.send(db, inquiryTask, { merchantId, id, step: next }, { startAfterSeconds })
}
