import { z } from 'zod'
import type { Behaviours } from '../config/behaviours.ts'

/** The answer of an endpoint that sends a message. */
export const SentMessageAnswer = z.object({
  message_id: z
    .guid()
    .optional()
    .meta({ description: 'Of every `POST /resend`; in the profile supabase of every SMS, and of no mail' }),
})

/** The answer of an endpoint that sends a message. */
export type SentMessageAnswer = z.output<typeof SentMessageAnswer>

/** A message that an endpoint has sent, or seems to have. */
interface SentMessage {
  readonly endpoint: 'resend' | 'other'
  readonly medium: 'email' | 'sms'
  /** Our own id, by which the log names the message. */
  readonly messageId: string
}

/** The member `message_id` of the answer of an endpoint that sends a message, where the answer has it. */
export function showMessageId(
  { showMessageIdOf }: Pick<Behaviours, 'showMessageIdOf'>,
  { endpoint, medium, messageId }: SentMessage,
): SentMessageAnswer {
  const isShown = showMessageIdOf === 'SMS' ? medium === 'sms' : endpoint === 'resend'
  return isShown ? { message_id: messageId } : {}
}
