import type { ColumnType, Generated } from 'kysely'
import { z } from 'zod'
import type { Behaviours } from '../config/behaviours.ts'
import type { GeneratedTimestamp } from '../records/timestamp.ts'
import type { MailKind } from './default-templates.ts'
import type { SmsChannel } from './sms-gateway.ts'

/** The purposes of SMS. A mail has a kind in their place. */
export const SMS_PURPOSES = ['one_time_code', 'phone_change', 'reauthentication', 'second_factor'] as const

/** The purpose of an SMS. `one_time_code`: to sign in, or to confirm the number. */
export type SmsPurpose = (typeof SMS_PURPOSES)[number]

/** A mail or an SMS that is about to be queued, as operators see it (console reference: Routes of auth). It holds no secret. */
export interface NewMessage {
  /** Our own id of the message, as in the log. */
  readonly id: string
  readonly kind: 'mail' | 'sms'
  /** A kind of mail in lower case, or the purpose of an SMS. */
  readonly purpose: string
  /** Null for a mail. */
  readonly channel: SmsChannel | null
  readonly userId: string
  /** The address, masked. */
  readonly recipient: string
}

/** A row of a mail or an SMS, as operators see it: neither its text nor its secrets. */
export interface MessagesTable {
  id: string
  kind: ColumnType<'mail' | 'sms', string, never>
  purpose: string
  /** Null for a mail. */
  channel: ColumnType<'sms' | 'whatsapp' | null, string | null, never>
  user_id: string
  /** Masked. */
  recipient: string
  status: ColumnType<'waiting' | 'sent' | 'failed', string | undefined, string>
  attempts: Generated<number>
  error: string | null
  created_at: GeneratedTimestamp
  sent_at: ColumnType<string | null, string | null, string | null>
}

/** Makes the row of a mail for operators, with its address masked and neither text nor link. */
export function describeMail({
  kind,
  messageId,
  to,
  userId,
}: {
  readonly kind: MailKind
  readonly messageId: string
  readonly to: string
  readonly userId: string
}): NewMessage {
  return { id: messageId, kind: 'mail', purpose: kind.toLowerCase(), channel: null, userId, recipient: maskAddress(to) }
}

/** Makes the row of an SMS for operators, with its phone masked and neither text nor code. */
export function describeSms({
  messageId,
  purpose,
  channel,
  to,
  userId,
}: {
  readonly messageId: string
  readonly purpose: SmsPurpose
  readonly channel: SmsChannel
  readonly to: string
  readonly userId: string
}): NewMessage {
  return { id: messageId, kind: 'sms', purpose, channel, userId, recipient: maskAddress(to) }
}

/** Masks an email but for its first character and its domain (`a…@example.com`), a phone but for its last two digits (`…89`). */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf('@')
  if (at === -1) return `…${address.slice(-2)}`
  const [first = ''] = address
  return `${first}…${address.slice(at)}`
}

/** The answer of an endpoint that sends a message. */
export const SentMessageAnswer = z.object({
  message_id: z
    .guid()
    .optional()
    .meta({ description: 'Of every `POST /resend`; in the profile supabase of every SMS, and of no mail' }),
})

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
