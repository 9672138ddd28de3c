import type { AuthConfig } from '../config.ts'
import { emailMessagesDisabled, emailSignInsDisabled, phoneCodesDisabled, phoneMessagesDisabled } from '../errors.ts'
import { channelUnsupported } from '../request-errors.ts'
import type { IdentifierKind } from '../requests/identifier.ts'
import type { SmsChannel } from './gateway-protocol.ts'

/** The channel that a body asks for. Only Twilio has `whatsapp`. @throws channelUnsupported */
export function requireChannel(provider: string | undefined, channel: string | undefined): SmsChannel {
  if (!channel || channel === 'sms') return 'sms'
  if (channel === 'whatsapp' && provider === 'twilio') return channel
  throw channelUnsupported()
}

type Media = Pick<AuthConfig['signup'], 'emailEnabled' | 'phoneEnabled'>

/** Requires that messages to addresses of a kind are switched on. @throws emailMessagesDisabled, phoneMessagesDisabled */
export function requireMessages({ emailEnabled, phoneEnabled }: Media, kind: IdentifierKind): void {
  if (kind === 'email' && !emailEnabled) throw emailMessagesDisabled()
  if (kind === 'phone' && !phoneEnabled) throw phoneMessagesDisabled()
}

/** Requires that codes and links to sign in with are switched on. @throws emailSignInsDisabled, phoneCodesDisabled */
export function requireOneTimeCodes({ emailEnabled, phoneEnabled }: Media, kind: IdentifierKind): void {
  if (kind === 'email' && !emailEnabled) throw emailSignInsDisabled()
  if (kind === 'phone' && !phoneEnabled) throw phoneCodesDisabled()
}
