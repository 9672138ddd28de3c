import { defineEncryptedTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import { z } from 'zod'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { AuthConfig } from '../config.ts'
import { emailMessagesDisabled, emailSignInsDisabled, phoneCodesDisabled, phoneMessagesDisabled } from '../errors.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import { channelUnsupported } from '../request-errors.ts'
import type { IdentifierKind, UserIdentifier } from '../requests/fields.ts'
import { SMS_CHANNELS, type SmsChannel } from './sms-gateway.ts'

const PURPOSES = ['magiclink', 'recovery', 'confirmation', 'email_change', 'phone_change'] as const

/**
 * The purpose of a message. POST /resend uses `confirmation` and the two changes to resend the pending message of an identifier.
 */
export type MessagePurpose = (typeof PURPOSES)[number]

/**
 * The outcome of a request. `unsent`: a test phone has a new code and gets no message. `nobody`: the message has no recipient.
 */
export type Sending = 'sent' | 'unsent' | 'nobody'

/**
 * A message that a client has requested. The route queues the request and responds before it looks for a user. The job then looks
 * for the user, and sends the message if the user exists. So unknown addresses get a response as fast as known ones (reference:
 * Enumeration and timing).
 */
export interface MessageRequest {
  readonly purpose: MessagePurpose
  readonly identifier: UserIdentifier
  readonly audience: string
  /** Metadata of the pending sign-up for an unknown identifier (reference: Pending sign-ups). `undefined`: none is created. */
  readonly stage?: { readonly data: Readonly<Record<string, unknown>> } | undefined
  readonly pkce?: PkceChallenge | undefined
  readonly channel?: SmsChannel
  readonly redirectTo: string
  readonly linkBase: string
  readonly ip: string
  /** The service's UUID of the message, for the response and the log. */
  readonly messageId: string
  /** RFC 3339. */
  readonly askedAt: string
  /** Whether a change of address starts again, as for an operator. Stored requests do not have this member. */
  readonly restartsChange?: true
}

const StoredRequest = z.object({
  purpose: z.enum(PURPOSES),
  identifier: z.object({ kind: z.enum(['email', 'phone']), value: z.string() }),
  audience: z.string(),
  stage: z.object({ data: z.record(z.string(), z.unknown()) }).optional(),
  pkce: z.object({ codeChallenge: z.string(), codeChallengeMethod: z.enum(['s256', 'plain']) }).optional(),
  channel: z.enum(SMS_CHANNELS).exactOptional(),
  redirectTo: z.string(),
  linkBase: z.string(),
  ip: z.string(),
  messageId: z.string(),
  askedAt: z.string(),
})

/** Encrypted, because it names the user and contains the PKCE code challenge. */
export const messageRequestTask = defineEncryptedTask(
  'message-request',
  (json): MessageRequest => StoredRequest.parse(json),
  { ...RETRY_FOR_A_DAY, timeoutSeconds: 30 },
)

/**
 * The number of messages a request counts as. A change of email counts as two mails if both addresses may have to confirm it. The
 * user, who decides that, is not yet read.
 */
export function countMessages({ purpose }: Pick<MessageRequest, 'purpose'>, config: CountConfig): number {
  return purpose === 'email_change' ? countEmailChange(config, config.mail.secureEmailChange ? 'both' : 'new') : 1
}

interface CountConfig {
  readonly compatibility: Pick<CompatibilityOptions, 'mailsPerEmailChange'>
  readonly mail: { readonly secureEmailChange: boolean }
}

/** The number of mails a change of email counts as, by the confirming addresses (reference: Message limits). */
export function countEmailChange(
  { compatibility }: Pick<CountConfig, 'compatibility'>,
  confirmedBy: 'both' | 'new',
): number {
  return confirmedBy === 'both' ? compatibility.mailsPerEmailChange : 1
}

export function messageMedium({
  purpose,
  identifier,
}: Pick<MessageRequest, 'purpose' | 'identifier'>): 'email' | 'sms' {
  const isSms = purpose === 'phone_change' || (purpose === 'confirmation' && identifier.kind === 'phone')
  return isSms ? 'sms' : 'email'
}

type MessageSwitches = Pick<AuthConfig['signup'], 'emailEnabled' | 'phoneEnabled'>

export function requireMessagesEnabled({ emailEnabled, phoneEnabled }: MessageSwitches, kind: IdentifierKind): void {
  if (kind === 'email' && !emailEnabled) throw emailMessagesDisabled()
  if (kind === 'phone' && !phoneEnabled) throw phoneMessagesDisabled()
}

export function requireOneTimeCodesEnabled(
  { emailEnabled, phoneEnabled }: MessageSwitches,
  kind: IdentifierKind,
): void {
  if (kind === 'email') requireEmailSignIns({ emailEnabled })
  if (kind === 'phone' && !phoneEnabled) throw phoneCodesDisabled()
}

export function requireEmailSignIns({ emailEnabled }: Pick<MessageSwitches, 'emailEnabled'>): void {
  if (!emailEnabled) throw emailSignInsDisabled()
}

/** The requested channel. Only Twilio has `whatsapp`. */
export function requireChannel(provider: string | undefined, channel: string | undefined): SmsChannel {
  if (!channel || channel === 'sms') return 'sms'
  if (channel === 'whatsapp' && provider === 'twilio') return channel
  throw channelUnsupported()
}
