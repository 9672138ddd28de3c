import { z } from 'zod'
import type { GatewayProtocol } from '../sms-gateway.ts'

export interface VonageConfig {
  /** The scheme and host. */
  readonly apiUrl: string
  readonly apiKey: string
  readonly apiSecret: string
  /** The sender that the phone shows: a number or a name. */
  readonly from: string
}

const Answer = z.object({
  messages: z
    .array(z.object({ status: z.string(), 'message-id': z.string().optional(), 'error-text': z.string().optional() }))
    .min(1),
})

/** Sends SMS with Vonage (https://developer.vonage.com/en/api/sms). */
export function vonage({ apiUrl, apiKey, apiSecret, from }: VonageConfig): GatewayProtocol {
  return {
    name: 'vonage',
    request: ({ to, text }) => ({
      url: new URL('/sms/json', apiUrl).href,
      form: { from, to, text, api_key: apiKey, api_secret: apiSecret, ...(isAscii(text) ? {} : { type: 'unicode' }) },
    }),
    read: (_status, body) => {
      const [message] = Answer.safeParse(body).data?.messages ?? []
      if (!message) return undefined
      if (message.status === '0') return { verdict: 'sent', id: message['message-id'] ?? '' }
      const reason = message['error-text'] ?? `status ${message.status}`
      return { verdict: 'refused', reason, code: message.status }
    },
  }
}

function isAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII begins with them
  return /^[\u0000-\u007f]*$/.test(text)
}
