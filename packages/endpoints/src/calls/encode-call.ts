import { type Answer, composeAnswer, isStream } from '../answers/answer.ts'
import { fromWebStream } from '../answers/byte-stream.ts'
import { encode } from '../answers/encode.ts'
import type { Route } from '../routing/table.ts'
import { type Call, report } from './call.ts'

/** Turns a value into the answer. `route` is left out for what is not the handler's own: the answer to an error. */
export async function encodeCall(call: Call, value: unknown, route?: Route): Promise<Answer> {
  const { response, request, core, incoming } = call
  const { settings } = core
  const head = {
    status: response.status ?? route?.status ?? (value === undefined ? 204 : 200),
    head: incoming.method === 'HEAD',
    requestIdHeader: settings.requestIdHeader,
    requestId: request.id,
  }
  if (value instanceof Response) {
    const { status, body } = adopt(call, value)
    return watched(call, await composeAnswer({ ...head, status }, { type: undefined, body }, response))
  }
  const encoded = encode(value, {
    type: response.type ?? route?.type,
    extensionType: route?.extensionType,
    stringify: settings.json.stringify,
  })
  return watched(call, await composeAnswer(head, encoded instanceof Promise ? await encoded : encoded, response))
}

/** Takes over a web `Response`. Its headers win over those of the controller. */
function adopt({ response }: Call, { status, headers, body }: Response) {
  const length = headers.get('content-length')
  response.headers.delete('content-type')
  for (const name of new Set(headers.keys())) if (name !== 'set-cookie') response.headers.delete(name)
  for (const [name, value] of headers) response.headers.append(name, value)
  return { status, body: body === null ? undefined : fromWebStream(body, length === null ? undefined : Number(length)) }
}

/** Logs an error that comes when the answer has begun; the interface then breaks the connection. */
function watched(call: Call, answer: Answer): Answer {
  const { body } = answer
  if (!isStream(body)) return answer
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      return await body.next()
    } catch (error) {
      // When the client has gone, whatever the source says about it is no news.
      if (!call.incoming.signal().aborted) report(call, error)
      body.close()
      throw error
    }
  }
  return { ...answer, body: { ...body, next } }
}
