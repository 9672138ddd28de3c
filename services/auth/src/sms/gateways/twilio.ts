import { z } from 'zod'
import type { GatewayProtocol, Sms } from '../gateway-protocol.ts'

export interface TwilioConfig {
  /** Scheme and host. */
  readonly apiUrl: string
  readonly accountSid: string
  readonly authToken: string
  /** A messaging service (`MG…`), a phone number, or a sender's name. */
  readonly sender: string
  /** Template of WhatsApp messages. */
  readonly contentSid: string | undefined
}

const answerSchema = z.object({
  sid: z.string().optional(),
  status: z.union([z.string(), z.number()]).optional(),
  message: z.string().nullish(),
  code: z.number().nullish(),
  error_message: z.string().nullish(),
  error_code: z.number().nullish(),
})
const FAILED: readonly unknown[] = ['failed', 'undelivered']

/** https://www.twilio.com/docs/messaging/api/message-resource */
export function twilio(config: TwilioConfig): GatewayProtocol {
  const { apiUrl, accountSid, authToken } = config
  return {
    name: 'twilio',
    request: (sms) => ({
      url: new URL(`/2010-04-01/Accounts/${encodeURIComponent(accountSid)}/Messages.json`, apiUrl).href,
      headers: { authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}` },
      form: { To: address(sms, `+${sms.to}`), ...from(config, sms), Body: sms.text, ...content(config, sms) },
    }),
    read: (status, body) => {
      const answer = answerSchema.safeParse(body).data
      if (!answer) return undefined
      const isTaken = status === 200 || status === 201
      if (isTaken && answer.sid !== undefined && !FAILED.includes(answer.status)) {
        return { verdict: 'sent', id: answer.sid }
      }
      const code = answer.error_code ?? answer.code ?? answer.status ?? status
      const reason = answer.error_message ?? answer.message ?? `status ${answer.status ?? status}`
      return { verdict: 'refused', reason, code: String(code) }
    },
  }
}

function from({ sender }: TwilioConfig, sms: Sms): Record<string, string> {
  if (sender.startsWith('MG')) return { MessagingServiceSid: sender }
  return { From: /^\+?\d+$/.test(sender) ? address(sms, `+${sender.replace('+', '')}`) : sender }
}

function content({ contentSid }: TwilioConfig, { channel, code }: Sms): Record<string, string> {
  if (channel !== 'whatsapp' || contentSid === undefined) return {}
  return { ContentSid: contentSid, ContentVariables: JSON.stringify({ 1: code }) }
}

function address({ channel }: Sms, number: string): string {
  return channel === 'whatsapp' ? `whatsapp:${number}` : number
}
