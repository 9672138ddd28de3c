import type { Outbound, OutboundRequest } from './outbound.ts'

/** What libraries give to a function of the shape of `fetch`. */
interface FetchOptions {
  readonly method: string
  readonly headers: Headers | Record<string, string>
  /** Of calls that have one: a form. */
  readonly body?: unknown
}

const TIMEOUT_MS = 10_000
/** Some APIs refuse callers without a name. */
const USER_AGENT = 'Trestle'

/**
 * A `fetch` for libraries that goes through the guarded client: checked addresses, no redirects, bounds.
 * @param timeoutMs of a whole call
 */
export function outboundFetch(outbound: Outbound, origin: OutboundRequest['origin'], timeoutMs = TIMEOUT_MS) {
  return async (url: string, { method, headers, body }: FetchOptions): Promise<Response> => {
    const answer = await outbound.send({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers: { ...Object.fromEntries(new Headers(headers)), 'user-agent': USER_AGENT },
      ...(body ? { body: String(body) } : {}),
      timeoutMs,
      origin,
    })
    // Providers send JSON under other names too; what is no JSON shows when it is parsed.
    return new Response(answer.body === '' ? null : answer.body, {
      status: answer.status,
      headers: { 'content-type': 'application/json' },
    })
  }
}
