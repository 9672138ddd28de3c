import { Hopeless } from '@trestle/jobs/jobs.ts'
import type { AnyTask } from '@trestle/jobs/task.ts'
import type { AuthDeps } from '../deps.ts'

/** What a log line tells of an attempt, beside its reason. */
interface Attempt {
  /** 1 for the first. */
  readonly attempt: number
  readonly [field: string]: unknown
}

/**
 * Tells the log that a message was not taken. Errors of mailer and gateway say why in words of their own: those of the
 * server may name the address, and stay out.
 */
export function logUndelivered(logger: AuthDeps['logger'], task: AnyTask, error: unknown, attempt: Attempt): void {
  const line = { ...attempt, reason: error instanceof Error ? error.message : String(error) }
  if (error instanceof Hopeless || attempt.attempt > task.retryLimit) logger.error(line, `${task.name} given up`)
  else logger.warn(line, `${task.name} not sent, will be tried again`)
}
