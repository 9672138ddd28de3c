import type { Outcome } from '@trestle/jobs/jobs.ts'
import { type AcquirerJob, acquirerTask } from '../acquirers/acquirer-task.ts'
import { getOperation } from '../acquirers/operation-repository.ts'
import type { ProcessDeps } from '../deps.ts'
import { insertException } from '../exceptions/exception-repository.ts'

type SubmitDeps = Pick<ProcessDeps, 'db' | 'jobs' | 'acquirers' | 'logger'>

/** Has every movement of live money handed to its acquirer. */
export function workOnOperations(deps: SubmitDeps): Promise<void> {
  return deps.jobs.work(acquirerTask, (job) => submitOperation(deps, job))
}

/**
 * Hands a movement to the acquirer, under the id of its trail entry: again it is the same movement. What the acquirer refuses
 * stays in our books, and an operator decides.
 * @throws Error while the acquirer cannot take it, for a later try
 */
export async function submitOperation(
  { db, acquirers, logger }: Pick<SubmitDeps, 'db' | 'acquirers' | 'logger'>,
  job: AcquirerJob,
): Promise<Outcome> {
  const { acquirer: name, task } = await getOperation(db, job)
  const acquirer = acquirers.find(name)
  if (!acquirer) throw new Error(`acquirer ${name} is not configured`)
  const outcome = await acquirer.submit(task)
  if (outcome.verdict === 'retry') throw new Error(`acquirer ${name} wants the movement later`)
  if (outcome.verdict === 'rejected') {
    const { merchantId, operationId } = task
    const payload = { type: 'operation', ...task, acquirer: name, reason: outcome.reason }
    await insertException(db, { merchantId, reference: `operation ${operationId}`, payload })
    logger.error(
      { acquirer: name, operation_id: operationId, reason: outcome.reason },
      'the acquirer refused a movement',
    )
  }
  return 'done'
}
