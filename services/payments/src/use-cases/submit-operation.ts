import type { Outcome } from '@trestle/jobs/jobs.ts'
import type { AcquirerTask, TaskOutcome } from '../acquirers/acquirer.ts'
import { type AcquirerJob, acquirerTask } from '../acquirers/acquirer-task.ts'
import { insertException } from '../acquirers/exception-repository.ts'
import { type ClosedOperation, callCloseOperation, getOperation } from '../acquirers/operation-repository.ts'
import type { ProcessDeps } from '../deps.ts'

type SubmitDeps = Pick<ProcessDeps, 'db' | 'lanes' | 'jobs' | 'outbox' | 'acquirers' | 'logger'>

/** Hands every capture, refund and void of live money to its acquirer. */
export function workOnOperations(deps: SubmitDeps): Promise<void> {
  return deps.jobs.work(acquirerTask, (job) => submitOperation(deps, job))
}

/**
 * Hands an operation to the acquirer, under the id of its trail entry: again it is the same operation. The books follow the
 * answer: what the acquirer rejects is taken back. (reference: What is taken back)
 * @throws Error while the acquirer cannot take it, for a later try
 */
export async function submitOperation(deps: Omit<SubmitDeps, 'jobs'>, job: AcquirerJob): Promise<Outcome> {
  const { acquirer: name, task } = await getOperation(deps.db, job)
  const acquirer = deps.acquirers.find(name)
  if (!acquirer) throw new Error(`acquirer ${name} is not configured`)
  const answer = await acquirer.submit(task)
  if (answer.verdict === 'retry') throw new Error(`acquirer ${name} wants the operation later`)
  await followAnswer(deps, { acquirer: name, task, answer })
  return 'done'
}

/** The last word on an operation. Without one for too long it counts as rejected. */
export interface FinalAnswer {
  readonly acquirer: string
  readonly task: AcquirerTask
  readonly answer: Exclude<TaskOutcome, { verdict: 'retry' }> | { readonly verdict: 'unanswered' }
}

/** Writes an answer into the books. What an operator has to know of is kept as an exception, once. */
export async function followAnswer(
  deps: Pick<SubmitDeps, 'db' | 'lanes' | 'outbox' | 'logger'>,
  { acquirer, task, answer }: FinalAnswer,
): Promise<void> {
  const { merchantId, operationId: id } = task
  const reason = answer.verdict === 'rejected' ? answer.reason : null
  const closed = await callCloseOperation(deps.lanes, { merchantId, id, outcome: answer.verdict, reason })
  deps.outbox.wake()
  const problem = problemOf(closed, answer)
  if (problem === undefined) return
  const owed = Number(closed.owed)
  const payload = { type: 'operation', ...task, acquirer, reason, problem, ...(owed === 0 ? {} : { owed }) }
  const reference = closed.verdict === 'conflict' ? `operation ${id} ${answer.verdict}` : `operation ${id}`
  const isNew = await insertException(deps.db, { merchantId, reference, payload })
  if (isNew)
    deps.logger.error({ acquirer, operation_id: id, reason, problem }, 'the acquirer did not accept an operation')
}

/** Why an operator should look; undefined when all is well. */
function problemOf({ verdict, status }: ClosedOperation, answer: FinalAnswer['answer']): string | undefined {
  if (verdict === 'conflict') return `${answer.verdict}, after it was ${status}`
  return answer.verdict === 'accepted' || verdict === 'repeated' ? undefined : answer.verdict
}
