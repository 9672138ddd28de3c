import { z } from 'zod'
import type { GatewayProtocol } from '../sms-gateway.ts'

export interface TextlocalConfig {
  /** The scheme and host. */
  readonly apiUrl: string
  readonly apiKey: string
  readonly sender: string
}

const Answer = z.object({
  status: z.string(),
  messages: z.array(z.object({ id: z.union([z.string(), z.number()]) })).optional(),
  errors: z.array(z.object({ code: z.number().optional(), message: z.string().optional() })).optional(),
})

/** Sends SMS with Textlocal (https://api.textlocal.in/docs/sendsms). */
export function textlocal({ apiUrl, apiKey, sender }: TextlocalConfig): GatewayProtocol {
  return {
    name: 'textlocal',
    request: ({ to, text }) => ({
      url: new URL('/send', apiUrl).href,
      form: { sender, apikey: apiKey, message: text, numbers: to },
    }),
    read: (status, body) => {
      const answer = Answer.safeParse(body).data
      if (!answer) return undefined
      const [message] = answer.messages ?? []
      if (answer.status === 'success' && message) return { verdict: 'sent', id: String(message.id) }
      const [error] = answer.errors ?? []
      return {
        verdict: 'refused',
        reason: error?.message ?? `status ${answer.status}`,
        code: String(error?.code ?? status),
      }
    },
  }
}
