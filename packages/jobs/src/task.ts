/** How a kind of background work is retried. The delay doubles from `firstDelaySeconds` up to `delaySecondsMax`. */
export interface TaskOptions {
  readonly retryLimit: number
  readonly firstDelaySeconds: number
  readonly delaySecondsMax: number
  readonly timeoutSeconds: number
  /** For jobs that mostly wait for other servers and need a fair share. The handler throws no `DeadLetterJob`. */
  readonly groups?: Groups
  /** The indexes that lists of these jobs need, in addition to the indexes of the queue. */
  readonly indexes?: readonly JobIndex[]
}

/** How many jobs of a task with groups run at the same time. A free slot goes to the job whose share ends first. */
export interface Groups {
  /** The maximum number of running jobs of all groups, in one process. */
  readonly jobsMax: number
  /** The maximum number of running jobs of one group, in all processes together. */
  readonly groupJobsMax: number
}

/** An index on the jobs of one task. A list uses the index only if its statement contains the name of the queue as a literal. */
export interface JobIndex {
  /**
   * A name that is unique among all tasks of a service. To change the definition, use a new name. The installation creates
   * missing indexes and never changes existing ones.
   */
  readonly name: string
  /** Whether the index is on the jobs of the task or on its dead-letter jobs. */
  readonly of: 'jobs' | 'dead-letter jobs'
  /** The columns and expressions in SQL, such as `(data ->> 'to'), created_on`. */
  readonly columns: string
  /** The condition of a partial index, in SQL. If `undefined`, the index contains all jobs. */
  readonly where?: string
}

/** A kind of background work with any payload, for code that needs only the name and the rules. */
export interface AnyTask extends TaskOptions {
  readonly name: string
  /** Whether payloads are encrypted in the tables of the queue, because they contain links, codes or keys. */
  readonly encrypted: boolean
}

/** A kind of background work. Its payload is JSON. */
export interface Task<Payload extends object> extends AnyTask {
  /** Exists only as a type, so that `send` and `work` use the same payload type. */
  readonly payload?: Payload
  /** Reads the JSON of a decrypted payload. Only encrypted tasks have it. */
  readonly read?: ReadPayload<Payload>
}

interface EncryptedTask<Payload extends object> extends Task<Payload> {
  readonly read: ReadPayload<Payload>
}

/** @throws Error if the JSON is not a payload of the task, for example because another release wrote it */
type ReadPayload<Payload> = (json: unknown) => Payload

/** Returns the name of the dead-letter queue of a task. The queue keeps dead-letter jobs until an operator handles them. */
export function deadLetterQueue(task: AnyTask): string {
  return `${task.name}_dead`
}

/** 60 attempts over more than a day, with delays of 5 s, 10 s, … up to half an hour. For work that must survive an outage. */
export const RETRY_FOR_A_DAY = { retryLimit: 60, firstDelaySeconds: 5, delaySecondsMax: 1_800 } as const

/** Declares a kind of background work: `defineTask<{ userId: string }>('send_mail', { … })`. Its payloads are not encrypted. */
export function defineTask<Payload extends object>(name: string, options: TaskOptions): Task<Payload> {
  return { name, encrypted: false, ...options }
}

/**
 * Declares a kind of background work with encrypted payloads, because the payloads contain secrets.
 * @param read for example `(json) => MailJob.parse(json)`, with a zod schema
 */
export function defineEncryptedTask<Payload extends object>(
  name: string,
  read: ReadPayload<Payload>,
  options: TaskOptions,
): EncryptedTask<Payload> {
  return { name, encrypted: true, read, ...options }
}

/** Thrown by a handler if no later attempt can succeed. The job becomes a dead-letter job immediately. */
export class DeadLetterJob extends Error {
  override readonly name = 'DeadLetterJob'
}
