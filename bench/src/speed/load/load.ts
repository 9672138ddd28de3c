import { z } from 'zod'

/** Requests that some connections send over and over. Each connection waits for its answer. */
export const Load = z.object({
  method: z.literal(['GET', 'POST']),
  /**
   * Here, in a header and in the body, `{token}` stands for one of `tokens` in turn, `{id}` for a random number from 1 to
   * `idMax`, `{sequence}` for a number that no other request has.
   */
  path: z.string(),
  headers: z.record(z.string(), z.string()).exactOptional(),
  body: z.string().exactOptional(),
  tokens: z.array(z.string()).readonly().exactOptional(),
  idMax: z.number().exactOptional(),
  /** The member of the answer that holds the next token. Each token is then used once. */
  chain: z.string().exactOptional(),
  connections: z.int(),
  /** Each connection waits a random time up to twice this before each request, in milliseconds. */
  pauseMs: z.number().exactOptional(),
})
export type Load = Readonly<z.infer<typeof Load>>

/** The result of a load. */
export interface LoadResult {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers of 400 and above, lost connections, timeouts. */
  readonly errors: number
}

/** Sends a load to a server for a number of whole seconds. */
export type LoadGenerator = (url: string, load: Load, seconds: number) => Promise<LoadResult>

/**
 * Sends one request of a load, so that a mistake shows as a message and not as a number.
 * @throws Error with the answer when its status is not 2xx
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
