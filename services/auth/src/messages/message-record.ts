import type { ColumnType, Generated } from 'kysely'
import { z } from 'zod'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { GeneratedTimestamp, Timestamp } from '../records/timestamp.ts'
import type { MailKind } from './mail-template.ts'
import type { SmsChannel } from './sms-gateway.ts'

/** The purposes of SMS. Mails have a kind instead. */
export const SMS_PURPOSES = ['one_time_code', 'phone_change', 'reauthentication', 'second_factor'] as const

/** The purpose of an SMS. `one_time_code` is for a sign-in or for the confirmation of the number. */
export type SmsPurpose = (typeof SMS_PURPOSES)[number]

/** A message to be queued, as operators see it, without secrets (console reference: Routes of auth). */
export interface NewMessage {
  /** The service's id of the message, as in the log. */
  readonly id: string
  readonly kind: 'mail' | 'sms'
  /** The kind of a mail in lower case, or the purpose of an SMS. */
  readonly purpose: string
  /** `null` for a mail. */
  readonly channel: SmsChannel | null
  readonly userId: string
  /** The masked address. */
  readonly recipient: string
}

/** The state of a message. `waiting` includes messages that will be tried again. */
export type MessageStatus = 'waiting' | 'sent' | 'failed'

export interface Message extends NewMessage {
  readonly status: MessageStatus
  readonly attempts: number
  /** Why the last attempt failed, or why the message was dropped. */
  readonly error: string | null
  readonly createdAt: Timestamp
  readonly sentAt: Timestamp | null
}

/** The row of a mail or an SMS for operators, without text and secrets. */
export interface MessagesTable {
  id: string
  kind: ColumnType<'mail' | 'sms', string, never>
  purpose: string
  /** `null` for a mail. */
  channel: ColumnType<'sms' | 'whatsapp' | null, string | null, never>
  user_id: string
  /** The masked address. */
  recipient: string
  status: ColumnType<'waiting' | 'sent' | 'failed', string | undefined, string>
  attempts: Generated<number>
  error: string | null
  created_at: GeneratedTimestamp
  sent_at: ColumnType<string | null, string | null, string | null>
}

/** Builds a mail's row for operators, with a masked address and without text and link. */
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

/** Builds an SMS's row for operators, with a masked phone and without text and code. */
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

/** Masks an email except its first character and domain (`a…@example.com`), a phone except its last two digits (`…89`). */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf('@')
  if (at === -1) return `…${address.slice(-2)}`
  const [first = ''] = address
  return `${first}…${address.slice(at)}`
}

/** The response of an endpoint that sends a message. */
export const SentMessageAnswer = z.object({
  message_id: z
    .guid()
    .optional()
    .meta({ description: 'Of every `POST /resend`; in the profile supabase of every SMS, and of no mail' }),
})

export type SentMessageAnswer = z.output<typeof SentMessageAnswer>

/** A message that an endpoint has sent, or pretends to have sent. */
interface SentMessage {
  readonly endpoint: 'resend' | 'other'
  readonly medium: 'email' | 'sms'
  /** The service's id of the message, as in the log. */
  readonly messageId: string
}

/** The member `message_id` of a response, if the profile shows it for this endpoint. */
export function showMessageId(
  { showMessageIdOf }: Pick<CompatibilityOptions, 'showMessageIdOf'>,
  { endpoint, medium, messageId }: SentMessage,
): SentMessageAnswer {
  const isShown = showMessageIdOf === 'SMS' ? medium === 'sms' : endpoint === 'resend'
  return isShown ? { message_id: messageId } : {}
}

const Moment = z.string().meta({ format: 'date-time', example: '2026-01-02T03:04:05.123456+00:00' })

/** A message as operators see it, without text, code and link (console reference: Routes of auth). */
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
