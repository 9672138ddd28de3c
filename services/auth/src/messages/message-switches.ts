import type { AuthConfig } from '../config.ts'
import { emailMessagesDisabled, emailSignInsDisabled, phoneCodesDisabled, phoneMessagesDisabled } from '../errors.ts'
import { channelUnsupported } from '../request-errors.ts'
import type { IdentifierKind } from '../requests/identifier.ts'
import type { SmsChannel } from './sms-gateway.ts'

type MessageSwitches = Pick<AuthConfig['signup'], 'emailEnabled' | 'phoneEnabled'>

/** Requires that messages to addresses of a kind are switched on. @throws emailMessagesDisabled, phoneMessagesDisabled */
export function requireMessagesEnabled({ emailEnabled, phoneEnabled }: MessageSwitches, kind: IdentifierKind): void {
  if (kind === 'email' && !emailEnabled) throw emailMessagesDisabled()
  if (kind === 'phone' && !phoneEnabled) throw phoneMessagesDisabled()
}

/** Requires that codes and links to sign in with are switched on. @throws emailSignInsDisabled, phoneCodesDisabled */
export function requireOneTimeCodesEnabled(
  { emailEnabled, phoneEnabled }: MessageSwitches,
  kind: IdentifierKind,
): void {
  if (kind === 'email') requireEmailSignIns({ emailEnabled })
  if (kind === 'phone' && !phoneEnabled) throw phoneCodesDisabled()
}

/** Requires that users may sign in by email, by a code or by a password. @throws emailSignInsDisabled */
export function requireEmailSignIns({ emailEnabled }: Pick<MessageSwitches, 'emailEnabled'>): void {
  if (!emailEnabled) throw emailSignInsDisabled()
}

/** The channel that a body asks for. Only Twilio has `whatsapp`. @throws channelUnsupported */
export function requireChannel(provider: string | undefined, channel: string | undefined): SmsChannel {
  if (!channel || channel === 'sms') return 'sms'
  if (channel === 'whatsapp' && provider === 'twilio') return channel
  throw channelUnsupported()
}
