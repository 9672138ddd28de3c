/** How a text reaches a phone. */
export type SmsChannel = 'sms' | 'whatsapp'

/** A text with a code, on its way to a phone. */
export interface Sms {
  /** E.164 digits, without `+`. */
  readonly to: string
  readonly text: string
  /** The code inside the text, for gateways whose own template names it. */
  readonly code: string
  readonly channel: SmsChannel
}

/** What a gateway is sent: a form, by POST. */
export interface GatewayRequest {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly form: Readonly<Record<string, string>>
}

/** What a gateway's answer says; undefined where it says neither. */
export type GatewayVerdict =
  | { readonly verdict: 'sent'; readonly id: string }
  | { readonly verdict: 'refused'; readonly reason: string; readonly code: string }
  | undefined

/** The rules of one gateway: what it is asked, and how its answer is read (reference: SMS). Pure. */
export interface GatewayProtocol {
  readonly name: string
  request(sms: Sms): GatewayRequest
  /** @param body parsed JSON */
  read(status: number, body: unknown): GatewayVerdict
}

/** What a gateway has answered: the status of HTTP, and what the answer says. */
export interface GatewayOutcome {
  readonly status: number
  readonly verdict: GatewayVerdict
}

/** Posts a form through the guarded client. The body is parsed JSON; undefined where it is none. */
export type PostForm = (request: GatewayRequest) => Promise<{ readonly status: number; readonly body: unknown }>

/** A gateway that the library of its maker speaks to. */
export interface LibraryGateway {
  readonly name: string
  /** Loads the library, which makes no connection of its own but calls `post`. */
  open(post: PostForm): Promise<(sms: Sms) => Promise<GatewayOutcome>>
}
