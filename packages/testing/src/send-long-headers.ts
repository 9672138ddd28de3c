import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** More than a service reads. */
const HEADER_LENGTH = 16_384

/** An answer to headers that are too long. */
export interface LongHeadersAnswer {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  /** The JSON of the body. */
  readonly body: unknown
}

/** Sends 16 KiB of headers to a server. Its parser refuses them, so `inject` cannot. */
export async function sendLongHeaders(url: string, method: string): Promise<LongHeadersAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request(url, { method, headers: { 'x-long': 'a'.repeat(HEADER_LENGTH) } }, resolve)
    .on('error', reject)
    .end()
  const answer = await promise
  return { status: answer.statusCode, headers: answer.headers, body: JSON.parse(await text(answer)) }
}
