import type { Outbound, OutboundRequest } from './outbound.ts'

interface FetchOptions {
  readonly method: string
  readonly headers: Headers | Record<string, string>
  readonly body?: unknown
}

/** A replacement of `fetch` for libraries. @throws the errors of `Outbound.send` */
export type OutboundFetch = (url: string, options: FetchOptions) => Promise<Response>

const TIMEOUT_MS = 10_000
/** Some APIs refuse clients without a User-Agent. */
const USER_AGENT = 'Trestle'

/**
 * Returns a `fetch` for libraries that uses the guarded client: checked addresses, no redirects, limited responses.
 * @param timeoutMs the limit for a whole call
 */
export function outboundFetch(
  outbound: Outbound,
  origin: OutboundRequest['origin'],
  timeoutMs = TIMEOUT_MS,
): OutboundFetch {
  return async (url, { method, headers, body }) => {
    const answer = await outbound.send({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers: { ...Object.fromEntries(new Headers(headers)), 'user-agent': USER_AGENT },
      ...(body ? { body: String(body) } : {}),
      timeoutMs,
      origin,
    })
    // Some providers send JSON with another media type. Parsing refuses any other content.
    return new Response(answer.body === '' ? null : answer.body, {
      status: answer.status,
      headers: { 'content-type': 'application/json' },
    })
  }
}
