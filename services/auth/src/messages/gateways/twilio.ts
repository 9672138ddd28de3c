import { z } from 'zod'
import type { GatewayOutcome, LibraryGateway, PostForm, Sms } from '../sms-gateway.ts'

export interface TwilioConfig {
  /** The scheme and host. */
  readonly apiUrl: string
  /** Begins with `AC`. The library accepts no other form. */
  readonly accountSid: string
  readonly authToken: string
  /** A messaging service (`MG…`), a phone number, or a sender name. */
  readonly sender: string
  /** The template of WhatsApp messages. */
  readonly contentSid: string | undefined
}

const FAILED: readonly unknown[] = ['failed', 'undelivered']

/** Sends SMS and WhatsApp messages with Twilio (https://www.twilio.com/docs/messaging/api/message-resource). */
export function twilio(config: TwilioConfig): LibraryGateway {
  return {
    name: 'twilio',
    open: async (post) => {
      // Load the library only if the operator uses Twilio. It costs 0.3 s of CPU time and 35 MiB.
      const { default: library } = await import('twilio')
      // Use `post` instead of the library's transport, which resolves names again and follows redirects.
      const httpClient = Object.assign(new library.RequestClient(), { request: requestOver(config, post) })
      const client = library(config.accountSid, config.authToken, { httpClient })
      return async (sms) => {
        try {
          return outcomeOf(await client.messages.create(toMessage(config, sms)))
        } catch (error) {
          return outcomeOfError(error)
        }
      }
    },
  }
}

/** The request that the library passes to its transport. */
const ApiRequest = z.object({ uri: z.url(), data: z.record(z.string(), z.string()) })
/** The form of all API answers. It excludes a proxy's page, which the library's error would quote. */
const ApiBody = z.record(z.string(), z.unknown())

function requestOver({ apiUrl, accountSid, authToken }: TwilioConfig, post: PostForm) {
  const headers = { authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}` }
  return async (request: unknown) => {
    const { uri, data } = ApiRequest.parse(request)
    const { status, body } = await post({ url: new URL(new URL(uri).pathname, apiUrl).href, headers, form: data })
    const read = ApiBody.safeParse(body)
    if (!read.success) throw new UnreadableAnswer(status)
    return { statusCode: status, body: read.data, headers: {} }
  }
}

class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer'
  readonly status: number

  constructor(status: number) {
    super('the answer is not a JSON object')
    this.status = status
  }
}

function toMessage(config: TwilioConfig, sms: Sms) {
  return { to: address(sms, `+${sms.to}`), ...toSender(config, sms), body: sms.text, ...content(config, sms) }
}

function toSender({ sender }: TwilioConfig, sms: Sms) {
  if (sender.startsWith('MG')) return { messagingServiceSid: sender }
  return { from: /^\+?\d+$/.test(sender) ? address(sms, `+${sender.replace('+', '')}`) : sender }
}

function content({ contentSid }: TwilioConfig, { channel, code }: Sms) {
  if (channel !== 'whatsapp' || contentSid === undefined) return {}
  return { contentSid, contentVariables: JSON.stringify({ 1: code }) }
}

function address({ channel }: Sms, number: string): string {
  return channel === 'whatsapp' ? `whatsapp:${number}` : number
}

const Message = z.object({
  sid: z.string().optional(),
  status: z.string().optional(),
  errorCode: z.number().nullish(),
  errorMessage: z.string().nullish(),
})

function outcomeOf(created: unknown): GatewayOutcome {
  const message = Message.safeParse(created).data
  if (!message) return { status: 201, verdict: undefined }
  const { sid, status = 'missing' } = message
  if (sid !== undefined && !FAILED.includes(status)) return { status: 201, verdict: { verdict: 'sent', id: sid } }
  const reason = message.errorMessage ?? `status ${status}`
  return { status: 201, verdict: { verdict: 'refused', reason, code: String(message.errorCode ?? status) } }
}

/** The library's error for an answer that is not 2xx. Its other errors have no status. */
const Exception = z.object({
  status: z.number(),
  code: z.number().optional(),
  message: z.string().optional(),
})

function outcomeOfError(error: unknown): GatewayOutcome {
  const exception = Exception.safeParse(error).data
  if (!exception) throw error
  const { status, code = status, message = `status ${status}` } = exception
  if (error instanceof UnreadableAnswer) return { status, verdict: undefined }
  return { status, verdict: { verdict: 'refused', reason: message, code: String(code) } }
}
