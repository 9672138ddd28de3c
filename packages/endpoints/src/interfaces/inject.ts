import { webBody } from '../body/body-source.ts'
import type { Incoming } from '../request/incoming.ts'

/** A request for `app.inject`. It reaches the handlers like a request from the network. */
export interface InjectedRequest {
  readonly method?: string
  /** The path and the query, as a client sends them. */
  readonly path: string
  readonly headers?: ConstructorParameters<typeof Headers>[0]
  /** A body as for a web `Response`, or a plain value that is sent as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** Creates a request without a connection. Does not parse the path as a URL, so that tests can send malformed paths. */
export async function toIncoming(injected: InjectedRequest): Promise<Incoming> {
  const headers = new Headers(injected.headers)
  const carrier = injected.body === undefined ? undefined : encodeBody(injected.body)
  const bytes = new Uint8Array((await carrier?.arrayBuffer()) ?? [])
  const type = carrier?.headers.get('content-type')
  if (type && !headers.has('content-type')) headers.set('content-type', type)
  if (carrier !== undefined && !headers.has('content-length')) headers.set('content-length', String(bytes.byteLength))
  const abort = new AbortController()
  const host = headers.get('host') ?? 'localhost'
  return {
    method: injected.method ?? 'GET',
    target: injected.path,
    mountDepth: 0,
    header: (name) => headers.get(name) ?? undefined,
    headers: () => headers,
    body: carrier && webBody(new Blob([bytes]).stream(), headers.get('content-length')),
    signal: () => injected.signal ?? abort.signal,
    address: () => '127.0.0.1',
    origin: () => `http://${host}`,
    id: undefined,
    raw: { request: injected, extra: [] },
    isAnswered: () => false,
    refusal: undefined,
    log: undefined,
  }
}

function encodeBody(body: unknown): Response {
  return isWebBody(body) ? new Response(body) : Response.json(body)
}

function isWebBody(body: unknown): body is NonNullable<ConstructorParameters<typeof Response>[0]> {
  return (
    typeof body === 'string' ||
    [Blob, ArrayBuffer, FormData, URLSearchParams, ReadableStream].some((type) => body instanceof type) ||
    ArrayBuffer.isView(body)
  )
}
