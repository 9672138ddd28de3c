import { z } from 'zod'
import { scrubStart } from '../cards/scrub.ts'

/** The statuses of a delivery. `cancelled` has a reason from `CANCELLATIONS`. `failed` means that the last attempt failed. */
export const DELIVERY_STATUSES = ['waiting', 'sending', 'retrying', 'delivered', 'cancelled', 'failed'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** The reasons for cancelling a delivery, as operators see them. `webhook-gone`: the webhook answered 410. */
export const CANCELLATIONS = {
  'webhook-deleted': 'not sent: the webhook is deleted',
  'webhook-disabled': 'not sent: the webhook is disabled',
  'event-expired': 'not sent: the event is older than 30 days',
  'webhook-gone': 'answered 410',
} as const
export type Cancellation = keyof typeof CANCELLATIONS

/** The time in which a webhook must answer. */
export const ANSWER_MS = 5_000
/** The status by which a webhook refuses all further events. */
export const GONE = 410
export const NO_ANSWER = `no answer within ${ANSWER_MS} ms`
/** The code of unanswered name look-ups, which occupy a worker nearly as long as a webhook without an answer. */
const NAME_TIMEOUT = 'ETIMEOUT'
export const WITHOUT_TLS = 'not sent: http is not allowed'
export const PAUSED = 'not tried: there was no answer several times'

/** The labels of an unanswered attempt, by its error. All other errors are connection errors. */
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

/** Returns whether a webhook or its name servers did not answer in time. */
export function isTimeout({ error }: Pick<DeliveryAttempt, 'error'>): boolean {
  return error === NO_ANSWER || error === NAME_TIMEOUT
}

/** One attempt to deliver an event, as the queue stores it and operators see it (console reference: Routes of payments). */
export const DeliveryAttempt = z.object({
  at: z.iso.datetime(),
  status: z.int().optional().describe('That of the answer. Absent: there was none'),
  error: z.string().optional().describe('Why the attempt failed'),
  answer: z.string().optional().describe('The first 4 KiB of the body. It is the text of a stranger'),
})
/** One attempt. `error` is absent if the webhook accepted the event. */
export type DeliveryAttempt = z.infer<typeof DeliveryAttempt>

interface WebhookAnswer {
  readonly status: number
  readonly body: string
}

/** Returns an answered attempt. The webhook has accepted the event if the status is 2xx. */
export function toAnsweredAttempt({ status, body }: WebhookAnswer): Omit<DeliveryAttempt, 'at'> {
  const answered = { status, answer: toShownAnswer(body) }
  const failure = status >= 200 && status < 300 ? undefined : `answered ${status}`
  return failure === undefined ? answered : { ...answered, error: failure }
}

const SHOWN_BYTES = 4_096

/**
 * Returns the first 4 KiB of an answer without card numbers, bank accounts and addresses, because a receiver may answer with its
 * own data. U+FFFD replaces U+0000, which PostgreSQL cannot store.
 */
export function toShownAnswer(body: string): string {
  const text = scrubStart(body, SHOWN_BYTES).replaceAll('\0', '\ufffd')
  // In stream mode, the decoder drops a character that the limit cuts in two.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, SHOWN_BYTES), { stream: true })
}

const Noted = z.array(DeliveryAttempt)

/** Returns the stored attempts, oldest first. @param notes `null` if the queue has stored none */
export function parseAttempts(notes: unknown): readonly DeliveryAttempt[] {
  return notes === null ? [] : Noted.parse(notes)
}
