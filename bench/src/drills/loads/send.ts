export interface ClientRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: object
}

export interface ClientAnswer {
  readonly status: number
  readonly body: string
}

/** A service responds within 30 s, with 503 at the latest. */
const REQUEST_MS = 35_000

/** @returns the response, or a text about why there is none */
export async function send(
  url: string,
  { method, path, headers, body }: ClientRequest,
): Promise<ClientAnswer | string> {
  try {
    const response = await fetch(url + path, {
      method,
      headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_MS),
    })
    return { status: response.status, body: await response.text() }
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') return 'no answer'
    const cause = error instanceof Error ? error.cause : undefined
    return `connection lost (${cause instanceof Error && 'code' in cause ? cause.code : error})`
  }
}
