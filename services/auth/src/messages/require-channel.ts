import { channelUnsupported } from '../request-errors.ts'
import type { SmsChannel } from './gateway-protocol.ts'

/** The channel that a body asks for. Only Twilio has `whatsapp`. @throws channelUnsupported */
export function requireChannel(provider: string | undefined, channel: string | undefined): SmsChannel {
  if (!channel || channel === 'sms') return 'sms'
  if (channel === 'whatsapp' && provider === 'twilio') return channel
  throw channelUnsupported()
}
