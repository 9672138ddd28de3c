import { z } from 'zod'
import type { Message } from './message-repository.ts'

const Moment = z.string().meta({ format: 'date-time', example: '2026-01-02T03:04:05.123456+00:00' })

/** A mail or an SMS as operators see it, without its text, code or link (console reference: Routes of auth). */
export const MessageView = z
  .object({
    id: z.guid(),
    kind: z.enum(['mail', 'sms']),
    purpose: z
      .string()
      .meta({ description: 'A kind of mail in lower case, or what an SMS is for', example: 'recovery' }),
    user_id: z.guid(),
    to: z.string().meta({ description: 'The address, masked', example: 'a…@example.com' }),
    status: z
      .enum(['waiting', 'sent', 'failed'])
      .meta({ description: 'A message that was not taken waits for the next attempt' }),
    attempts: z.int(),
    created_at: Moment,
    sent_at: Moment.optional(),
    error: z.string().optional().meta({ description: 'Why the last attempt has failed, or why nothing is sent' }),
  })
  .meta({ id: 'Message' })

export function viewMessage(message: Message): z.output<typeof MessageView> {
  const { id, kind, purpose, userId, recipient, status, attempts, createdAt, sentAt, error } = message
  return {
    id,
    kind,
    purpose,
    user_id: userId,
    to: recipient,
    status,
    attempts,
    created_at: createdAt,
    sent_at: sentAt ?? undefined,
    error: error ?? undefined,
  }
}
