import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Acquirers } from '../acquirers/acquirers.ts'
import { bookGivenBack } from '../acquirers/book-answers.ts'
import type { Db } from '../database.ts'
import { findUnknownAttempt, type UnsettledAttempt, updateUnknownAttempt } from '../transactions/attempt-repository.ts'
import { type InquiryJob, inquiryTask } from '../transactions/transaction-jobs.ts'

/** The seconds between inquiries. The acquirer is asked after 10 s, 1 min, 10 min, 1 h, 6 h and 24 h. Then an operator decides */
const DELAYS_SECONDS = [10, 50, 540, 3_000, 18_000, 64_800]

/**
 * If an attempt is older than this when the first job finds it, its process has ended. The acquirer's time to answer is over, so
 * the job asks immediately.
 */
const LOST_MS = 15_000

type InquiryDeps = {
  readonly db: Db
  readonly jobs: Jobs
  readonly acquirers: Acquirers
  readonly logger: ServiceLogger['logger']
  readonly now: () => Date
}

/**
 * Asks the acquirer for the outcome of an attempt. Gives back an approval, because its client got no answer. While the acquirer
 * does not know the outcome, asks again later. In the end the operator decides (reference: Attempts). A second run of the job
 * ends if the first run has settled the attempt. Otherwise it asks and gives back again, which the acquirer treats as the same
 * call, and sends a second job for the next step.
 */
export async function inquireAttempt(deps: InquiryDeps, job: InquiryJob): Promise<Outcome> {
  const attempt = await findUnknownAttempt(deps.db, job)
  if (!attempt) return 'dropped'
  const isLost = deps.now().getTime() - attempt.created.getTime() >= LOST_MS
  const step = job.step ?? (isLost ? 0 : undefined)
  const isAnswered = step !== undefined && (await askAcquirer(deps, attempt))
  if (!isAnswered) await askLater(deps, attempt, step)
  return 'done'
}

/** Asks the acquirer for the outcome of an attempt and stores it. `false` while the acquirer does not know it. */
async function askAcquirer(
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
      const taken = await acquirer?.reverse(attempt.id).catch(orUnanswered)
      return taken !== undefined && bookGivenBack(deps.db, attempt, taken)
    }
    case 'declined':
      await updateUnknownAttempt(deps.db, attempt, 'declined')
      return true
    default:
      return false
  }
}

async function askLater(
  { db, jobs, logger }: InquiryDeps,
  { merchantId, id }: UnsettledAttempt,
  step = -1,
): Promise<void> {
  const next = step + 1
  const startAfterSeconds = DELAYS_SECONDS[next]
  if (startAfterSeconds === undefined) logger.error({ attempt_id: id }, 'the outcome of an attempt is unknown for good')
  else await jobs.send(db, inquiryTask, { merchantId, id, step: next }, { startAfterSeconds })
}

/** Starts the jobs that ask about every attempt of unknown outcome until it is settled. */
export function startInquiries(deps: InquiryDeps): Promise<void> {
  return deps.jobs.work(inquiryTask, (job) => inquireAttempt(deps, job))
}
