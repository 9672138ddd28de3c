import { setTimeout as pause } from 'node:timers/promises'
import type { Counter } from '@opentelemetry/api'
import type { JobResult, JobWithMetadata, PgBoss } from 'pg-boss'
import { putBack } from './queue.ts'
import { type AnyTask, DeadLetterJob, type Task } from './task.ts'

/** The label `outcome` of `jobs_total`: two results of a handler, a failure with a retry, and the last failure. */
export const OUTCOMES = ['done', 'dropped', 'retry', 'dead'] as const

/**
 * The outcome of an attempt, which the queue stores. `dropped` means that the work is no longer needed, such as a mail to a
 * deleted user.
 */
export type Outcome = 'done' | 'dropped'

export interface JobAttempt {
  readonly id: string
  /** The number of the attempt, beginning with 1. */
  readonly attempt: number
  /**
   * Adds a note about this attempt: JSON without secrets. The queue stores it with the outcome and the notes of earlier attempts,
   * in one statement. If the process dies during an attempt, its note and all earlier notes are lost.
   */
  readonly addNote: (note: object) => void
}

/** Does one job. An error causes a retry. @throws DeadLetterJob if no later attempt could succeed */
export type Handler<Payload> = (payload: Payload, job: JobAttempt) => Promise<Outcome>

export interface AttemptConfig {
  readonly schema: string
  /** Keys of 32 bytes for the payloads of encrypted tasks. The first key encrypts, and all keys decrypt. */
  readonly payloadKeys: PayloadKeys
  /**
   * Called before each attempt. While it returns `false`, no attempt begins, and a failed attempt does not count. By default,
   * attempts may always begin.
   */
  readonly mayWork?: () => boolean
}

export interface AttemptResult extends JobResult {
  /** The minimum delay before the next attempt, in seconds. If it is `undefined`, the delay of the task applies. */
  readonly laterSeconds?: number
}

interface WorkingTask<Payload extends object> {
  readonly boss: PgBoss
  readonly outcomes: Counter
  readonly task: Task<Payload>
  readonly handler: Handler<Payload>
}

/** The data of a job in the table of the queue. `send` has written it for the same task. */
type Stored<Payload extends object> = Payload | EncryptedPayload

/** How long a worker waits before it puts back a job that may not run now. */
const HELD_BACK_MS = 1_000

/** Creates the function that makes an attempt of a job and reports its outcome to the queue and the metrics. */
export function jobRunner<Payload extends object>(
  { schema, payloadKeys, mayWork = () => true }: AttemptConfig,
  { boss, outcomes, task, handler }: WorkingTask<Payload>,
): (job: JobWithMetadata<Stored<Payload>>) => Promise<AttemptResult> {
  const attempt = async (job: JobWithMetadata<Stored<Payload>>, note: JobAttempt['addNote']): Promise<Outcome> => {
    // Wait before failing. If the batch ended immediately, the next batch would follow without a pause.
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
    // Copy the notes at the end of the attempt, so that notes added after the time limit are omitted.
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

/** Returns the notes of earlier attempts. */
function notesOf(output: object | null | undefined): readonly unknown[] {
  return output && 'notes' in output && Array.isArray(output.notes) ? output.notes : []
}

/**
 * Stops waiting for an attempt after the time limit of its task. The time limit of the queue would fail the whole batch, so
 * completed jobs would run again because another job hangs.
 * @throws the error of the attempt, or Error if it took too long
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

/** @throws Error if the payload is not encrypted as the task requires, if no key decrypts it, or if it is invalid */
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
 * Thrown by a handler of a task with groups to delay the next attempt by some seconds. If the delay of the task is longer, that
 * delay applies.
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

/** Keys of 32 bytes. The first key encrypts, and all keys decrypt. */
export type PayloadKeys = readonly [Uint8Array, ...Uint8Array[]]

/** Encrypts a payload as a JWE, with direct encryption and A256GCM (RFC 7516, RFC 7518 section 5.3). */
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

/** Decrypts a payload of `encryptPayload`. @throws Error if no key fits or the text was altered */
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
