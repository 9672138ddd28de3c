import { z } from 'zod'
import { scrubStart } from '../cards/scrub.ts'

/** The status of a delivery. `cancelled`: for a reason of `CANCELLATIONS`. `failed`: after the last attempt. */
export const DELIVERY_STATUSES = ['waiting', 'sending', 'retrying', 'delivered', 'cancelled', 'failed'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** Why a delivery is cancelled, as operators see it. `webhook-gone`: the webhook has answered 410. */
export const CANCELLATIONS = {
  'webhook-deleted': 'not sent: the webhook is deleted',
  'webhook-disabled': 'not sent: the webhook is disabled',
  'event-expired': 'not sent: the event is older than 30 days',
  'webhook-gone': 'answered 410',
} as const
export type Cancellation = keyof typeof CANCELLATIONS

/** How long a webhook may take to answer. */
export const ANSWER_MS = 5_000
/** The status by which a webhook says that it takes no more events. */
export const GONE = 410
export const NO_ANSWER = `no answer within ${ANSWER_MS} ms`
/** The code of a name whose name servers do not answer. It holds a worker nearly as long as a webhook without an answer. */
const NAME_TIMEOUT = 'ETIMEOUT'
export const WITHOUT_TLS = 'not sent: http is not allowed'
export const PAUSED = 'not tried: there was no answer several times'

/** The labels of an attempt that took no answer, by its error. Each error that is not listed is of the connection. */
const LABELS: ReadonlyMap<string, AttemptLabels> = new Map([
  [NO_ANSWER, { outcome: 'failed', reason: 'timeout' }],
  [NAME_TIMEOUT, { outcome: 'failed', reason: 'timeout' }],
  [PAUSED, { outcome: 'failed', reason: 'paused' }],
  [WITHOUT_TLS, { outcome: 'failed', reason: 'not-https' }],
  ...Object.entries(CANCELLATIONS).map(([reason, error]) => [error, { outcome: 'cancelled', reason }] as const),
])

/** The labels of an attempt in the metric `payments_webhook_attempts_total`. */
interface AttemptLabels extends Readonly<Record<string, string>> {
  readonly outcome: string
}

export function attemptLabels({ status, error }: Omit<DeliveryAttempt, 'at'>): AttemptLabels {
  if (error === undefined) return { outcome: 'delivered' }
  return LABELS.get(error) ?? { outcome: 'failed', reason: status === undefined ? 'connection' : 'answer' }
}

/** Whether a webhook or its name servers gave no answer in time. */
export function isTimeout({ error }: Pick<DeliveryAttempt, 'error'>): boolean {
  return error === NO_ANSWER || error === NAME_TIMEOUT
}

/** One attempt to deliver an event, as the queue keeps it and as operators see it (console reference: Routes of payments). */
export const DeliveryAttempt = z.object({
  at: z.iso.datetime(),
  status: z.int().optional().describe('That of the answer. Absent: there was none'),
  error: z.string().optional().describe('Why the attempt failed'),
  answer: z.string().optional().describe('The first 4 KiB of the body. It is the text of a stranger'),
})
/** `error`: absent when the webhook has taken the event. */
export type DeliveryAttempt = z.infer<typeof DeliveryAttempt>

interface WebhookAnswer {
  readonly status: number
  readonly body: string
}

/** An attempt that was answered. The webhook has taken the event if the status is one of success. */
export function toAnsweredAttempt({ status, body }: WebhookAnswer): Omit<DeliveryAttempt, 'at'> {
  const answered = { status, answer: toShownAnswer(body) }
  const failure = status >= 200 && status < 300 ? undefined : `answered ${status}`
  return failure === undefined ? answered : { ...answered, error: failure }
}

const SHOWN_BYTES = 4_096

/**
 * The first 4 KiB of an answer, without card numbers, accounts and addresses, because a receiver may answer
 * with data that it knows. U+FFFD replaces U+0000, which PostgreSQL does not store.
 */
export function toShownAnswer(body: string): string {
  const text = scrubStart(body, SHOWN_BYTES).replaceAll('\0', '\ufffd')
  // As a stream, the decoder leaves out a character that is cut.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, SHOWN_BYTES), { stream: true })
}

const Noted = z.array(DeliveryAttempt)

/** The attempts that the queue has kept of a delivery, the oldest first. @param notes null where it has kept none */
export function parseAttempts(notes: unknown): readonly DeliveryAttempt[] {
  return notes === null ? [] : Noted.parse(notes)
}
