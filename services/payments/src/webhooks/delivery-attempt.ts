import { z } from 'zod'
import { scrubStart } from '../cards/scrub.ts'

/**
 * The status of a delivery. `dropped`: its webhook was gone or disabled, or its event too old. `failed`:
 * after the last attempt.
 */
export const DELIVERY_STATUSES = ['waiting', 'sending', 'retrying', 'delivered', 'dropped', 'failed'] as const
/** The state of a delivery. */
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** One attempt to deliver an event, as the queue keeps it and as operators see it (console reference: Routes of payments). */
export const DeliveryAttempt = z.object({
  at: z.iso.datetime(),
  status: z.int().optional().describe('That of the answer. Absent: there was none'),
  error: z.string().optional().describe('Why the attempt failed'),
  answer: z.string().optional().describe('The first 4 KiB of the body. It is the text of a stranger'),
})
/** `error`: absent when the webhook has taken the event. */
export type DeliveryAttempt = z.infer<typeof DeliveryAttempt>

/** The answer of a webhook to an event. */
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
