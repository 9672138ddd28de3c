/** How a kind of background work is retried. The delay doubles from `firstDelaySeconds` up to `delaySecondsMax`. */
export interface TaskOptions {
  readonly retryLimit: number
  readonly firstDelaySeconds: number
  readonly delaySecondsMax: number
  readonly timeoutSeconds: number
  /** For jobs that mostly wait for other servers, and whose groups have a fair share. Its handler throws no `DeadLetterJob`. */
  readonly groups?: Groups
  /** The indexes that lists of its jobs need besides the indexes of the queue. */
  readonly indexes?: readonly JobIndex[]
}

/** How many jobs of a task with groups are done at once. A free slot goes to the job whose share ends first. */
export interface Groups {
  /** Jobs of all groups in a process. */
  readonly jobsMax: number
  /** Jobs of one group in all processes. */
  readonly groupJobsMax: number
}

/** An index on the jobs of one task. A list uses it only where its statement has the name of the queue as a literal. */
export interface JobIndex {
  /**
   * Unique among all tasks of a service. Another definition is another name: an install makes what is
   * missing, and changes nothing.
   */
  readonly name: string
  /** The jobs of the task, or its dead-letter jobs. */
  readonly of: 'jobs' | 'dead-letter jobs'
  /** Columns and expressions as SQL, such as `(data ->> 'to'), created_on`. */
  readonly columns: string
  /** The condition on the jobs that the index has, as SQL. Undefined: all. */
  readonly where?: string
}

/** A kind of background work with any payload, for code that only needs its name and its rules. */
export interface AnyTask extends TaskOptions {
  readonly name: string
  /** Whether payloads are encrypted in the tables of the queue, because they contain links, codes or keys. */
  readonly encrypted: boolean
}

/** A kind of background work. Its payload is JSON. */
export interface Task<Payload extends object> extends AnyTask {
  /** Only a type, so that `send` and `work` agree on the payload. */
  readonly payload?: Payload
  /** Reads the JSON of a decrypted payload. Only an encrypted task has it. */
  readonly read?: ReadPayload<Payload>
}

interface EncryptedTask<Payload extends object> extends Task<Payload> {
  readonly read: ReadPayload<Payload>
}

/** @throws Error when the JSON is no payload of the task, as that of another release may be */
type ReadPayload<Payload> = (json: unknown) => Payload

/** The dead-letter queue of a task. It keeps dead-letter jobs until an operator looks. */
export function deadLetterQueue(task: AnyTask): string {
  return `${task.name}_dead`
}

/** 60 attempts over more than a day, after 5 s, 10 s, … up to half an hour, for work that must survive an outage. */
export const RETRY_FOR_A_DAY = { retryLimit: 60, firstDelaySeconds: 5, delaySecondsMax: 1_800 } as const

/** Declares a kind of background work: `defineTask<{ userId: string }>('send_mail', { … })`. Its payloads are not encrypted. */
export function defineTask<Payload extends object>(name: string, options: TaskOptions): Task<Payload> {
  return { name, encrypted: false, ...options }
}

/**
 * Declares a kind of background work whose payloads are encrypted, because they carry secrets.
 * @param read such as `(json) => MailJob.parse(json)`, by a schema of zod
 */
export function defineEncryptedTask<Payload extends object>(
  name: string,
  read: ReadPayload<Payload>,
  options: TaskOptions,
): EncryptedTask<Payload> {
  return { name, encrypted: true, read, ...options }
}

/** Thrown by a handler when no later attempt could succeed: the job is dead at once. */
export class DeadLetterJob extends Error {
  override readonly name = 'DeadLetterJob'
}
