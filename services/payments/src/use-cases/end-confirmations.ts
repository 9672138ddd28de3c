import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { isEndedStatement, isRefusedValue } from '@trestle/database/unavailable.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { confirmationTask } from '../acquirers/acquirer-jobs.ts'
import type { Acquirers } from '../acquirers/acquirers.ts'
import { type BookingDeps, bookFinalAnswer, type FinalAnswer } from '../acquirers/book-answers.ts'
import { getOperation, listOverdueOperations, type OperationKey } from '../acquirers/operation-repository.ts'
import type { PaymentsConfig } from '../config.ts'

type ConfirmationDeps = BookingDeps & {
  readonly jobs: Jobs
  readonly acquirers: Acquirers
  readonly logger: ServiceLogger['logger']
} & { readonly config: Pick<PaymentsConfig, 'dayLimits'> }

const BATCH_ROWS = 1_000
const EVERY_HOUR = '41 * * * *'

/**
 * Asks the acquirer once more about every operation that has been open for `confirmationDays`. An operation without an answer
 * counts as rejected (reference: States of an operation). So no merchant waits forever for money, and no merchant is paid money
 * that the acquirer has not taken. A second run finds only operations that the first run could not close. The acquirer recognizes
 * a repeated request by the id of the operation.
 * @throws any error except that the database has cancelled a statement, so that the job runs again
 */
export async function endConfirmations(deps: Omit<ConfirmationDeps, 'jobs'>): Promise<Outcome> {
  const { db, logger } = deps
  const { confirmationDays: days } = deps.config.dayLimits
  for (const key of await listOverdueOperations(db, { days, limit: BATCH_ROWS })) {
    try {
      await endConfirmation(deps, key)
    } catch (error) {
      // A locked merchant must not delay other merchants.
      if (!isEndedStatement(error)) throw error
      logger.warn({ err: error, operation_id: key.id }, 'the wait for an acquirer could not be ended')
    }
  }
  return 'done'
}

async function endConfirmation(deps: Omit<ConfirmationDeps, 'jobs'>, key: OperationKey): Promise<void> {
  const { acquirer, task } = await getOperation(deps.db, key)
  const answer = await askOnceMore(deps, acquirer, task)
  try {
    await bookFinalAnswer(deps, { acquirer, task, answer })
  } catch (error) {
    if (!isRefusedValue(error)) throw error
    // The wait ends now, so an answer that cannot be stored counts as no answer.
    deps.logger.error({ err: error, acquirer, operation_id: key.id }, 'the answer of an acquirer could not be stored')
    await bookFinalAnswer(deps, { acquirer, task, answer: { verdict: 'unanswered' } })
  }
}

async function askOnceMore(
  { acquirers, logger }: Pick<ConfirmationDeps, 'acquirers' | 'logger'>,
  name: string,
  task: FinalAnswer['task'],
): Promise<FinalAnswer['answer']> {
  try {
    const answer = await acquirers.find(name)?.submit(task)
    if (answer && answer.verdict !== 'retry') return answer
  } catch (error) {
    logger.warn({ err: error, acquirer: name, operation_id: task.operationId }, 'the acquirer did not answer')
  }
  return { verdict: 'unanswered' }
}

/** Starts the hourly job that stops waiting for acquirers that have not answered. */
export async function startConfirmations(deps: ConfirmationDeps): Promise<void> {
  await deps.jobs.work(confirmationTask, () => endConfirmations(deps))
  await deps.jobs.schedule(confirmationTask, EVERY_HOUR)
}
