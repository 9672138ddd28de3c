/** The outcome of a request. */
export interface Reply {
  /** 0 when there was no answer. */
  readonly status: number
  readonly body: unknown
}

/** The parts of a request beside its method and path. */
export interface Ask {
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string>>
}

/** An act of a client. Resolves to the statuses of its answers; 0 stands for no answer. */
export type Action = () => Promise<readonly number[]>

const PATIENCE_MS = 15_000

/** Sends JSON, or a text unchanged. Never throws, because services are down while a fault lasts. */
export async function send(method: string, url: string, { body, headers = {} }: Ask = {}): Promise<Reply> {
  const type = typeof body === 'object' ? { 'content-type': 'application/json' } : {}
  try {
    const response = await fetch(url, {
      method,
      headers: { ...type, ...headers },
      body: typeof body === 'object' ? JSON.stringify(body) : (body ?? null),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    const text = await response.text()
    return { status: response.status, body: parse(text) }
  } catch {
    return { status: 0, body: undefined }
  }
}

/** Sends a request that must succeed. @throws Error with the answer when its status is not 2xx */
export async function sendOrThrow(method: string, url: string, ask?: Ask): Promise<unknown> {
  const { status, body } = await send(method, url, ask)
  if (status < 200 || status > 299) throw new Error(`${method} ${url} answers ${status}: ${JSON.stringify(body)}`)
  return body
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
