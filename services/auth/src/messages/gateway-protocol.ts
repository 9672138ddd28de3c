/** The ways in which a text reaches a phone. */
export const SMS_CHANNELS = ['sms', 'whatsapp'] as const

/** How a text reaches a phone. */
export type SmsChannel = (typeof SMS_CHANNELS)[number]

/** An SMS with a code, as every gateway takes it. */
export interface Sms {
  /** E.164 digits, without `+`. */
  readonly to: string
  readonly text: string
  /** The code inside the text, for gateways that fill a template of their own. */
  readonly code: string
  readonly channel: SmsChannel
}

/** A request to a gateway: a form, sent by POST. */
export interface GatewayRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly form: Readonly<Record<string, string>>
}

/** Whether a gateway has sent an SMS, as its answer says; undefined where the answer says neither. */
export type GatewayVerdict =
  | { readonly verdict: 'sent'; readonly id: string }
  | { readonly verdict: 'refused'; readonly reason: string; readonly code: string }
  | undefined

/** The protocol of one gateway: how a request is written and an answer read (reference: SMS). Pure. */
export interface GatewayProtocol {
  readonly name: string
  request(sms: Sms): GatewayRequest
  /** @param body parsed JSON */
  read(status: number, body: unknown): GatewayVerdict
}

/** The HTTP status of a gateway's answer, and what the answer says. */
export interface GatewayOutcome {
  readonly status: number
  readonly verdict: GatewayVerdict
}

/** Posts a form through the guarded client. The body of the answer is parsed JSON; undefined where it is not JSON. */
export type PostForm = (request: GatewayRequest) => Promise<{ readonly status: number; readonly body: unknown }>

/** A gateway that is called through the library of its vendor. */
export interface LibraryGateway {
  readonly name: string
  /** Loads the library. It opens no connection, but calls `post`. */
  open(post: PostForm): Promise<(sms: Sms) => Promise<GatewayOutcome>>
}
