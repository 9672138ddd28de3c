import type { Outbound } from '@trestle/common/outbound/outbound.ts'

/** Sends SMS by the gateway of SMS_PROVIDER, with one attempt. The caller decides about another. */
export interface SmsGateway {
  /** @returns the gateway's id of the message @throws SmsRefused, or another Error if the gateway does not work */
  send(sms: Sms): Promise<string>
}

/** The gateway works but refuses the message. The error message contains neither phone nor text. */
export class SmsRefused extends Error {
  override readonly name = 'SmsRefused'
  /** The gateway's reason, for the client. */
  readonly reason: string

  constructor(gateway: string, { reason, code }: { readonly reason: string; readonly code: string }) {
    super(`${gateway} refused the message (${code})`)
    this.reason = reason
  }
}

/** Shorter than the default request limit, so that a request that waits for the gateway can report the outage. */
const TIMEOUT_MS = 8_000
/** Statuses about the operator's account, the URL or the gateway's load, not about the message. */
const NOT_THE_MESSAGE: readonly number[] = [401, 403, 404, 405, 407, 408, 429]
const REASON_LENGTH_MAX = 200

/** Opens the gateway at the start of the process, so that no request waits for the library. */
export async function createSmsGateway(
  gateway: GatewayProtocol | LibraryGateway,
  outbound: Outbound,
): Promise<SmsGateway> {
  const post = postOver(outbound)
  const exchange = 'open' in gateway ? await gateway.open(post) : exchangeForms(gateway, post)
  return {
    send: async (sms) => {
      const { status, verdict } = await exchange(sms)
      if (verdict?.verdict === 'sent') return verdict.id
      if (!verdict || status >= 500 || NOT_THE_MESSAGE.includes(status)) {
        throw new Error(`${gateway.name} answered ${status}${verdict ? ` (${verdict.code})` : ''}`)
      }
      throw new SmsRefused(gateway.name, { ...verdict, reason: verdict.reason.slice(0, REASON_LENGTH_MAX) })
    },
  }
}

function postOver(outbound: Outbound): PostForm {
  return async ({ url, headers, form }) => {
    const { status, body } = await outbound.send({
      method: 'POST',
      url,
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
      timeoutMs: TIMEOUT_MS,
      origin: 'operator',
    })
    return { status, body: parse(body) }
  }
}

function exchangeForms(protocol: GatewayProtocol, post: PostForm): (sms: Sms) => Promise<GatewayOutcome> {
  return async (sms) => {
    const { status, body } = await post(protocol.request(sms))
    return { status, verdict: body === undefined ? undefined : protocol.read(status, body) }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** The channels for messages to a phone. */
export const SMS_CHANNELS = ['sms', 'whatsapp'] as const

export type SmsChannel = (typeof SMS_CHANNELS)[number]

export interface Sms {
  /** The E.164 digits without `+`. */
  readonly to: string
  readonly text: string
  /** The code in the text, for gateways with their own templates. */
  readonly code: string
  readonly channel: SmsChannel
}

/** A request to a gateway: a form sent by POST. */
interface GatewayRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly form: Readonly<Record<string, string>>
}

/** Whether a gateway has sent an SMS. `undefined` if its response does not say. */
type GatewayVerdict =
  | { readonly verdict: 'sent'; readonly id: string }
  | { readonly verdict: 'refused'; readonly reason: string; readonly code: string }
  | undefined

/** The protocol of a gateway: writes requests and reads responses (reference: SMS). It has no side effects. */
export interface GatewayProtocol {
  readonly name: string
  request(sms: Sms): GatewayRequest
  /** @param body the parsed JSON */
  read(status: number, body: unknown): GatewayVerdict
}

export interface GatewayOutcome {
  readonly status: number
  readonly verdict: GatewayVerdict
}

/** Posts a form through the guarded client. `body` is parsed JSON, or `undefined` if it is not JSON. */
export type PostForm = (request: GatewayRequest) => Promise<{ readonly status: number; readonly body: unknown }>

/** A gateway that needs its vendor's library. */
export interface LibraryGateway {
  readonly name: string
  /** Loads the library, which uses `post` instead of its own connections. */
  open(post: PostForm): Promise<(sms: Sms) => Promise<GatewayOutcome>>
}
