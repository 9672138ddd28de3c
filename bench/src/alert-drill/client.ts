/** What came of a request. */
export interface Reply {
  /** 0 where nobody answered. */
  readonly status: number
  readonly body: unknown
}

export interface Ask {
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string>>
}

/** Something that a client does. Resolves to the statuses that it got, 0 where nobody answered. */
export type Action = () => Promise<readonly number[]>

const PATIENCE_MS = 15_000

/** Sends JSON, or a text as it is, and never throws: services are away while a fault lasts. */
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

/** For what must work before anything else can. @throws Error with the answer when it is none of the 200s */
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
