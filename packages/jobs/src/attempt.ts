import { setTimeout as pause } from 'node:timers/promises'
import type { Counter } from '@opentelemetry/api'
import type { JobResult, JobWithMetadata, PgBoss } from 'pg-boss'
import { putBack } from './queue.ts'
import { type AnyTask, DeadLetterJob, type Task } from './task.ts'

/** Values of the label `outcome` of `jobs_total`: two of a handler, a failure that is repeated, and the last failure. */
export const OUTCOMES = ['done', 'dropped', 'retry', 'dead'] as const

/**
 * The outcome of an attempt; the queue keeps it. `dropped`: the work makes no sense any more, such as a mail
 * to a deleted user.
 */
export type Outcome = 'done' | 'dropped'

export interface JobAttempt {
  readonly id: string
  /** 1 for the first. */
  readonly attempt: number
  /**
   * Adds a note of this attempt to what the queue keeps: JSON without secrets. It is written by the statement
   * that writes the outcome, beside the notes of the attempts before. An attempt whose process dies leaves no
   * note, and the notes before it are lost too.
   */
  readonly addNote: (note: object) => void
}

/** Does one job. @throws DeadLetterJob when no later attempt could succeed. After any other error it is tried again */
export type Handler<Payload> = (payload: Payload, job: JobAttempt) => Promise<Outcome>

export interface AttemptConfig {
  readonly schema: string
  /** Keys of 32 bytes for the payloads of encrypted tasks. The first one encrypts, all of them decrypt. */
  readonly payloadKeys: PayloadKeys
  /**
   * Asked before each attempt. While the answer is no, no attempt begins, and an attempt that fails does not count. Default:
   * attempts may always begin.
   */
  readonly mayWork?: () => boolean
}

export interface AttemptResult extends JobResult {
  /** The next attempt comes no sooner. Undefined: after the delay of the task. */
  readonly laterSeconds?: number
}

interface WorkingTask<Payload extends object> {
  readonly boss: PgBoss
  readonly outcomes: Counter
  readonly task: Task<Payload>
  readonly handler: Handler<Payload>
}

/** The data of a job in the table of the queue: `send` of the same task has written it. */
type Stored<Payload extends object> = Payload | EncryptedPayload

/** How long a job waits before it is put back while nothing may be done. */
const HELD_BACK_MS = 1_000

/** Makes what a worker calls for each job: an attempt, and its outcome for the queue and the metrics. */
export function jobRunner<Payload extends object>(
  { schema, payloadKeys, mayWork = () => true }: AttemptConfig,
  { boss, outcomes, task, handler }: WorkingTask<Payload>,
): (job: JobWithMetadata<Stored<Payload>>) => Promise<AttemptResult> {
  const attempt = async (job: JobWithMetadata<Stored<Payload>>, note: JobAttempt['addNote']): Promise<Outcome> => {
    // A batch that ends at once would be followed by the next one.
    if (!mayWork()) await pause(HELD_BACK_MS)
    if (!mayWork()) throw new Error('nothing may be written now')
    return handler(await payloadOf(task, job.data, payloadKeys), {
      id: job.id,
      attempt: job.retryCount + 1,
      addNote: note,
    })
  }
  return async (job: JobWithMetadata<Stored<Payload>>): Promise<AttemptResult> => {
    const notes = [...notesOf(job.output)]
    // Read at the end of the attempt, so that what is added after its time limit is left out.
    const given = () => (notes.length === 0 ? {} : { notes: [...notes] })
    try {
      const outcome = await withinTime(task, () => attempt(job, (note) => notes.push(note)))
      outcomes.add(1, { task: task.name, outcome })
      return { id: job.id, status: 'completed', output: { outcome, ...given() } }
    } catch (error) {
      const output = { message: error instanceof Error ? error.message : String(error), ...given() }
      const isDeadAtOnce = error instanceof DeadLetterJob
      if (!isDeadAtOnce && !mayWork()) {
        await putBack(boss, schema, job)
        return { id: job.id, status: 'failed', output }
      }
      const isDead = isDeadAtOnce || job.retryCount >= job.retryLimit
      outcomes.add(1, { task: task.name, outcome: isDead ? 'dead' : 'retry' })
      if (isDead) return { id: job.id, status: 'deadletter', output }
      return {
        id: job.id,
        status: 'failed',
        output,
        ...(error instanceof RetryLater ? { laterSeconds: error.seconds } : {}),
      }
    }
  }
}

/** The notes of the attempts before. */
function notesOf(output: object | null | undefined): readonly unknown[] {
  return output && 'notes' in output && Array.isArray(output.notes) ? output.notes : []
}

/**
 * Ends the wait for an attempt after the time of its task. The time limit of the queue fails a whole batch, and would repeat jobs
 * that were done beside a job that hangs.
 * @throws Error of the attempt, or when it took too long
 */
export async function withinTime({ timeoutSeconds }: AnyTask, attempt: () => Promise<Outcome>): Promise<Outcome> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error(`the attempt took longer than ${timeoutSeconds} s`)),
    timeoutSeconds * 1_000,
  )
  try {
    return await Promise.race([attempt(), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** @throws Error when the payload of an encrypted task is not encrypted, when no key decrypts it, or when it is not one of the task */
async function payloadOf<Payload extends object>(
  task: Task<Payload>,
  data: Stored<Payload>,
  keys: PayloadKeys,
): Promise<Payload> {
  if (task.read && isEncrypted(data)) return task.read(await decryptPayload(keys, data))
  if (task.read || isEncrypted(data))
    throw new Error(`the payload of a job of task ${task.name} is not encrypted as the task says`)
  return data
}

/**
 * Thrown by a handler of a task with groups whose next attempt shall not come before some seconds have passed. The delays of the
 * task count where they are longer.
 */
export class RetryLater extends Error {
  override readonly name = 'RetryLater'
  readonly seconds: number

  constructor(message: string, seconds: number) {
    super(message)
    this.seconds = seconds
  }
}

interface EncryptedPayload {
  readonly sealed: string
}

/** Keys of 32 bytes. The first one encrypts, all of them decrypt. */
export type PayloadKeys = readonly [Uint8Array, ...Uint8Array[]]

/** Encrypts a payload: JWE, direct encryption with A256GCM (RFC 7516, RFC 7518 section 5.3). */
export async function encryptPayload([key]: PayloadKeys, payload: object): Promise<EncryptedPayload> {
  const { CompactEncrypt } = await import('jose')
  const sealed = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .encrypt(key)
  return { sealed }
}

function isEncrypted(data: object): data is EncryptedPayload {
  return 'sealed' in data && typeof data.sealed === 'string'
}

/** Decrypts a payload to the JSON that `encryptPayload` was given. @throws Error when no key fits or the text was altered */
export async function decryptPayload(keys: PayloadKeys, { sealed }: EncryptedPayload): Promise<unknown> {
  const { compactDecrypt } = await import('jose')
  const opened = await Promise.any(
    keys.map((key) =>
      compactDecrypt(sealed, key, { keyManagementAlgorithms: ['dir'], contentEncryptionAlgorithms: ['A256GCM'] }),
    ),
  ).catch((error: AggregateError) => {
    throw error.errors[0]
  })
  return JSON.parse(new TextDecoder().decode(opened.plaintext))
}
