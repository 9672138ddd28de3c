import type { Outcome } from '@trestle/jobs/attempt.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { type AcquirerJob, acquirerTask } from '../acquirers/acquirer-jobs.ts'
import type { Acquirers } from '../acquirers/acquirers.ts'
import { type BookingDeps, bookFinalAnswer } from '../acquirers/book-answers.ts'
import { getOperation } from '../acquirers/operation-repository.ts'

type SubmitDeps = BookingDeps & { readonly acquirers: Acquirers }

/**
 * Sends an operation to the acquirer under the id of its trail entry, so the acquirer recognizes a repeated call. Then books the
 * answer, and takes back a rejected operation (reference: What is taken back). A second run gets the same answer, which changes
 * nothing.
 * @throws Error if the acquirer is unavailable, so that the job runs again
 */
export async function submitOperation(deps: SubmitDeps, job: AcquirerJob): Promise<Outcome> {
  const { acquirer: name, task } = await getOperation(deps.db, job)
  const acquirer = deps.acquirers.find(name)
  if (!acquirer) throw new Error(`acquirer ${name} is not configured`)
  const answer = await acquirer.submit(task)
  if (answer.verdict === 'retry') throw new Error(`acquirer ${name} wants the operation later`)
  await bookFinalAnswer(deps, { acquirer: name, task, answer })
  return 'done'
}

/** Starts the worker that sends every capture, refund and void of live merchants to its acquirer. */
export function startOperations({ jobs, ...deps }: SubmitDeps & { readonly jobs: Jobs }): Promise<void> {
  return jobs.work(acquirerTask, (job) => submitOperation(deps, job))
}
