/** Requests that are sent over and over on some connections, each of which waits for its answer. */
export interface Load {
  readonly method: 'GET' | 'POST'
  /**
   * Here, in a header or in the body, `{token}` stands for one of `tokens` in turn, `{id}` for a random number from 1 to
   * `idMax`, `{sequence}` for a number that no other request has.
   */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly tokens?: readonly string[]
  readonly idMax?: number
  /** A member of the answer whose value is the next token: each token is used once then. */
  readonly chain?: string
  readonly connections: number
  /** Each connection waits a random time up to twice this before each request, in milliseconds. */
  readonly pauseMs?: number
}

/** What a time of load has shown. */
export interface LoadResult {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers of 400 and above, lost connections, time-outs. */
  readonly errors: number
}

/** Sends a load to a server for some whole seconds. */
export type LoadGenerator = (url: string, load: Load, seconds: number) => Promise<LoadResult>

/**
 * Sends one request of a load, so that a mistake shows itself in words before it becomes a number.
 *
 * @throws Error with the answer when its status is not 2xx.
 */
export async function tryLoad(url: string, load: Load): Promise<void> {
  const fill = (text: string) =>
    text
      .replaceAll('{token}', load.tokens?.[0] ?? '')
      .replaceAll('{id}', '1')
      .replaceAll('{sequence}', `trial-${process.hrtime.bigint()}`)
  const headers = Object.entries(load.headers ?? {}).map(([name, value]): [string, string] => [name, fill(value)])
  const response = await fetch(url + fill(load.path), {
    method: load.method,
    headers: { ...(load.body !== undefined && { 'content-type': 'application/json' }), ...Object.fromEntries(headers) },
    ...(load.body !== undefined && { body: fill(load.body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${load.method} ${url}${load.path} answers ${response.status}: ${text}`)
}
