import { createHmac } from 'node:crypto'

export interface SignedMessage {
  readonly id: string
  /** Epoch seconds. */
  readonly timestamp: number
  readonly body: string
}

/** The headers of Standard Webhooks: whoever knows one of the keys can tell that a message is ours, and new. */
export function signatureHeaders(keys: readonly Buffer[], { id, timestamp, body }: SignedMessage) {
  const signatures = keys.map((key) => createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64'))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  }
}
