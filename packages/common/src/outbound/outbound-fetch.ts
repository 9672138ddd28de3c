import type { Outbound, OutboundRequest } from './outbound.ts'

interface FetchOptions {
  readonly method: string
  readonly headers: Headers | Record<string, string>
  readonly body?: unknown
}

/** The function that libraries use in place of `fetch`. @throws as `Outbound.send` does */
export type OutboundFetch = (url: string, options: FetchOptions) => Promise<Response>

const TIMEOUT_MS = 10_000
/** Some APIs refuse callers without a User-Agent. */
const USER_AGENT = 'Trestle'

/**
 * Returns a `fetch` for libraries that uses the guarded client: checked addresses, no redirects, bounded answers.
 * @param timeoutMs for a whole call
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
    // Some providers send JSON under other media types. Parsing refuses other contents.
    return new Response(answer.body === '' ? null : answer.body, {
      status: answer.status,
      headers: { 'content-type': 'application/json' },
    })
  }
}
