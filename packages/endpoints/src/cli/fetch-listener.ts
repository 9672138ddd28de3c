import type { RequestListener } from 'node:http'
import { fromWebStream } from '../answers/byte-stream.ts'
import { WRITE_TIMEOUT_MS } from '../config/options.ts'
import { NodeIncoming, sendToNode } from '../interfaces/node.ts'

/** A fetch server: it answers a Request with a Response, as Workers, Deno and Bun call it. */
export type FetchHandler = (request: Request, ...extra: readonly unknown[]) => Response | Promise<Response>

/** Serves a fetch handler with `node:http`. */
export function fetchListener(handler: FetchHandler): RequestListener {
  return (request, response) => {
    const incoming = new NodeIncoming(request, response)
    const fail = (status: number): void =>
      sendToNode(response, { status, headers: ['content-length', '0'], body: undefined }, WRITE_TIMEOUT_MS)
    let web: Request
    try {
      web = toRequest(incoming)
    } catch {
      // A target that is not a URL, such as `*`, or a verb that a web Request refuses.
      return fail(400)
    }
    const answer = async (): Promise<void> => {
      const { status, headers, body } = await handler(web)
      const stream = body === null ? undefined : fromWebStream(body)
      sendToNode(response, { status, headers: [...headers].flat(), body: stream }, WRITE_TIMEOUT_MS)
    }
    answer().catch((error: unknown) => {
      console.error(`${incoming.method} ${incoming.target} failed`, error)
      fail(500)
    })
  }
}

function toRequest(incoming: NodeIncoming): Request {
  const { method, target } = incoming
  const url = target.startsWith('/') ? `${incoming.origin()}${target}` : target
  const body = method === 'GET' || method === 'HEAD' ? null : (incoming.body?.stream() ?? null)
  return new Request(url, { method, headers: incoming.headers(), signal: incoming.signal(), body, duplex: 'half' })
}
