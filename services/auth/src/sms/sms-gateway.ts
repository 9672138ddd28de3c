import type { Outbound, OutboundAnswer } from '@trestle/common/outbound/outbound.ts'
import type { GatewayProtocol, GatewayVerdict, Sms } from './gateway-protocol.ts'

/** Sends texts. */
export interface SmsGateway {
  /** @returns the gateway's id of the message. @throws SmsRefused, or another Error while the gateway does not work */
  send(sms: Sms): Promise<string>
}

/** The gateway works, and does not take this message. The error's own message tells neither phone nor text. */
export class SmsRefused extends Error {
  override readonly name = 'SmsRefused'
  /** The gateway's words, for the client that asked. */
  readonly reason: string

  constructor(gateway: string, { reason, code }: { readonly reason: string; readonly code: string }) {
    super(`${gateway} refused the message (${code})`)
    this.reason = reason
  }
}

const TIMEOUT_MS = 10_000
/** Statuses that tell of the account, the address or the load of the gateway, not of the message. */
const NOT_THE_MESSAGE: readonly number[] = [401, 403, 404, 405, 407, 408, 429]
const REASON_LENGTH_MAX = 200

export function createSmsGateway(protocol: GatewayProtocol, outbound: Outbound): SmsGateway {
  return {
    send: async (sms) => {
      const { url, headers, form } = protocol.request(sms)
      const answer = await outbound.send({
        method: 'POST',
        url,
        headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(form).toString(),
        timeoutMs: TIMEOUT_MS,
        origin: 'operator',
      })
      const verdict = readAnswer(protocol, answer)
      if (verdict?.verdict === 'sent') return verdict.id
      if (!verdict || answer.status >= 500 || NOT_THE_MESSAGE.includes(answer.status)) {
        throw new Error(`${protocol.name} answered ${answer.status}${verdict ? ` (${verdict.code})` : ''}`)
      }
      throw new SmsRefused(protocol.name, { ...verdict, reason: verdict.reason.slice(0, REASON_LENGTH_MAX) })
    },
  }
}

function readAnswer(protocol: GatewayProtocol, { status, body }: OutboundAnswer): GatewayVerdict {
  try {
    return protocol.read(status, JSON.parse(body))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
