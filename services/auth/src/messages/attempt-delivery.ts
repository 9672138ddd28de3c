import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import { DeadJob } from '@trestle/jobs/dead-job.ts'
import type { AnyTask } from '@trestle/jobs/task.ts'
import type { Db } from '../database.ts'
import { type MessageOutcome, updateMessages } from './message-repository.ts'

/** Why a message is not sent, although nothing has failed. Operators read it. */
export type DropReason =
  | 'no mail server is set'
  | 'no SMS gateway is set'
  | 'a user has the address already'
  | 'the user is gone'

/** An attempt to send a message. */
export interface DeliveryAttempt {
  readonly task: AnyTask
  readonly messageId: string
  /** 1 for the first. */
  readonly attempt: number
  /** Further members of the log line. */
  readonly line?: object
  /** Whether an error ends the message, beside the errors that end its job. */
  readonly endsMessage?: (error: unknown) => boolean
}

/**
 * Sends a message, logs that it was not taken, and records the outcome for operators. Mailer and gateways
 * write the reason in their own words, because the words of a server may name the address.
 * @param send returns why the message is dropped; undefined once it is taken
 * @throws what `send` throws
 */
export async function attemptDelivery(
  deps: { readonly db: Db; readonly logger: ServiceLogger['logger'] },
  { task, messageId, attempt, line = {}, endsMessage = () => false }: DeliveryAttempt,
  send: () => Promise<DropReason | undefined>,
): Promise<Outcome> {
  // The message is out, or not, whatever becomes of its record. A failure here would have the job send the message again.
  const recordOutcome = (outcome: MessageOutcome) =>
    updateMessages(deps.db, [messageId], outcome).catch((err) =>
      deps.logger.warn({ err, message_id: messageId }, 'the outcome of a message is not noted'),
    )
  try {
    const dropped = await send()
    await recordOutcome({ status: dropped === undefined ? 'sent' : 'failed', attempt, error: dropped })
    return dropped === undefined ? 'done' : 'dropped'
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const isOver = error instanceof DeadJob || attempt > task.retryLimit
    const entry = { ...line, message_id: messageId, attempt, reason }
    if (isOver) deps.logger.error(entry, `${task.name} given up`)
    else deps.logger.warn(entry, `${task.name} not sent, will be tried again`)
    await recordOutcome({ status: isOver || endsMessage(error) ? 'failed' : 'waiting', attempt, error: reason })
    throw error
  }
}
