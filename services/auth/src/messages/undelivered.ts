import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { Hopeless } from '@trestle/jobs/hopeless.ts'
import type { AnyTask } from '@trestle/jobs/task.ts'

/** What a log line says about an attempt, beside its reason. */
interface Attempt {
  /** 1 for the first. */
  readonly attempt: number
  readonly [field: string]: unknown
}

/**
 * Logs that a message was not taken. Mailer and gateways write the reason in their own words, because the words of a server
 * may name the address.
 */
export function logUndelivered(logger: ServiceLogger['logger'], task: AnyTask, error: unknown, attempt: Attempt): void {
  const line = { ...attempt, reason: error instanceof Error ? error.message : String(error) }
  if (error instanceof Hopeless || attempt.attempt > task.retryLimit) logger.error(line, `${task.name} given up`)
  else logger.warn(line, `${task.name} not sent, will be tried again`)
}
