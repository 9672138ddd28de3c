import type { Jobs } from '@trestle/jobs/jobs.ts'
import { refuseMissing } from '../access/require-access.ts'
import type { Db } from '../database.ts'
import { tasks } from '../migrations.ts'
import { type OperatorAnswer, type OperatorChange, runOperatorChange } from '../operators/operator-change-repository.ts'

/**
 * Puts the dead-letter jobs of a task back into its queue, for an operator, in the database transaction of the change. Skips jobs
 * that another database transaction is retrying.
 */
export async function retryTask(
  { operatorDb, jobs }: { readonly operatorDb: Db; readonly jobs: Jobs },
  { change, name }: { readonly change: OperatorChange; readonly name: string },
): Promise<OperatorAnswer> {
  const task = tasks.find((known) => known.name === name) ?? refuseMissing()
  return runOperatorChange(operatorDb, change, async (trx) => {
    const retried = await jobs.retryDeadLetterJobs(task, trx)
    return { answer: { retried }, object: { kind: 'task', id: name }, changes: { retried } }
  })
}
