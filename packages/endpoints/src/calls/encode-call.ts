import { type Answer, composeAnswer, isStream } from '../answers/answer.ts'
import { type ByteStream, exactly, fromWebStream, started } from '../answers/byte-stream.ts'
import { type Encoded, encode } from '../answers/encode.ts'
import { isWebResponse } from '../answers/web-response.ts'
import type { Route } from '../routing/table.ts'
import { type Call, report } from './call.ts'

/** Turns a value into the answer. `route` is left out for what is not the handler's own: the answer to an error. */
export function encodeCall(call: Call, value: unknown, route?: Route): Answer | Promise<Answer> {
  const { response, core } = call
  if (isWebResponse(value)) {
    const { status, body } = adopt(call, value)
    return compose(call, status, { type: undefined, body })
  }
  const status = response.status ?? route?.status ?? (value === undefined ? 204 : 200)
  const encoded = encode(value, {
    type: response.type ?? route?.type,
    extensionType: route?.extensionType,
    stringify: core.settings.json.stringify,
  })
  if (encoded instanceof Promise) return encoded.then((awaited) => compose(call, status, awaited))
  return compose(call, status, encoded)
}

function compose(call: Call, status: number, encoded: Encoded): Answer | Promise<Answer> {
  const { requestIdHeader } = call.core.settings
  const head = { status, head: call.incoming.method === 'HEAD', requestIdHeader, requestId: call.request.id }
  const answer = composeAnswer(head, encoded, call.response)
  const { body } = answer
  if (!isStream(body)) return answer
  const signal = call.incoming.signal()
  // A client that goes away before the first bytes come is told to the source here; afterwards by the interface.
  if (signal.aborted) body.close()
  else signal.addEventListener('abort', body.close, { once: true })
  return started(exactly(body)).then((begun) => ({ ...answer, body: watched(call, begun) }))
}

/** Takes over a web `Response`. Its headers win over those of the controller. */
function adopt({ response }: Call, fetched: Response) {
  const { status, headers, body } = fetched
  const announced = headers.get('content-length') ?? ''
  const decoded = isDecoded(fetched)
  const length = /^\d+$/.test(announced) && !decoded ? Number(announced) : undefined
  for (const name of new Set(headers.keys())) if (name !== 'set-cookie') response.headers.delete(name)
  for (const [name, value] of headers) {
    if (!ofConnection.has(name) && !(decoded && name === 'content-encoding')) response.headers.append(name, value)
  }
  return { status, body: body === null ? undefined : fromWebStream(body, length) }
}

/** Headers of the connection that a fetched response came over, which say nothing about the one that it is sent on. */
const ofConnection = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade'])

/**
 * Whether `fetch` has decoded the body of a `Response`, whose headers are still those of the coded one. One that the
 * application has made has no URL, and its bytes are what its headers say.
 */
function isDecoded({ url, headers }: Response): boolean {
  const codings = headers.get('content-encoding')
  if (url === '' || codings === null) return false
  return codings.split(',').every((coding) => isDecodedByFetch(coding.trim().toLowerCase()))
}

/** A body with any other coding comes as it was sent. */
function isDecodedByFetch(coding: string): boolean {
  if (coding !== 'zstd') return /^(?:x-gzip|gzip|deflate|br)$/.test(coding)
  // The fetch of Node.js before 24 knows no zstd.
  const version = typeof process === 'undefined' ? undefined : process.versions?.undici
  return version === undefined || Number.parseInt(version, 10) >= 7
}

/** Logs an error that comes when the answer has begun; the interface then breaks the connection. */
function watched(call: Call, stream: ByteStream): ByteStream {
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      return await stream.next()
    } catch (error) {
      // When the client has gone, whatever the source says about it is no news.
      if (!call.incoming.signal().aborted) report(call, error)
      throw error
    }
  }
  return { ...stream, next }
}
