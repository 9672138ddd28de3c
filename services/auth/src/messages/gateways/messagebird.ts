import { z } from 'zod'
import type { GatewayProtocol } from '../sms-gateway.ts'

export interface MessagebirdConfig {
  /** The scheme and host. */
  readonly apiUrl: string
  readonly accessKey: string
  /** The sender: a phone number with `+`, or a company name. */
  readonly originator: string
}

const Answer = z.object({
  id: z.string().optional(),
  recipients: z.object({ totalSentCount: z.number() }).optional(),
  errors: z.array(z.object({ code: z.number().optional(), description: z.string().optional() })).optional(),
})

/** Sends SMS with MessageBird (https://developers.messagebird.com/api/sms-messaging/). */
export function messagebird({ apiUrl, accessKey, originator }: MessagebirdConfig): GatewayProtocol {
  return {
    name: 'messagebird',
    request: ({ to, text }) => ({
      url: new URL('/messages', apiUrl).href,
      headers: { authorization: `AccessKey ${accessKey}` },
      form: { originator, body: text, recipients: to, type: 'sms', datacoding: 'unicode' },
    }),
    read: (status, body) => {
      const answer = Answer.safeParse(body).data
      if (!answer) return undefined
      if (answer.id !== undefined && (answer.recipients?.totalSentCount ?? 0) > 0) {
        return { verdict: 'sent', id: answer.id }
      }
      const [error] = answer.errors ?? []
      return {
        verdict: 'refused',
        reason: error?.description ?? 'nothing was sent',
        code: String(error?.code ?? status),
      }
    },
  }
}
