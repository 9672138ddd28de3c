import { z } from 'zod'

type Method = 'GET' | 'POST'

/** A client that keeps the answers that it gets. */
export interface Visitor {
  /** Sends JSON, and returns the parsed answer. */
  ask(method: Method, path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<unknown>
  /** Sends a text as JSON, whether or not it is valid. */
  send(method: Method, path: string, text: string): Promise<unknown>
  /** Sends what a browser sends, and returns the answer without following redirects. */
  answer(method: Method, path: string, sent: Sent): Promise<Response>
  /** Asks for an answer that shows a secret once. This answer is not kept. @throws Error when the secret is missing */
  take(method: Method, path: string, body?: object): Promise<Taken>
  /** Headers and bodies of all answers but those of `take`. */
  answers(): string
}

interface Sent {
  readonly headers: Readonly<Record<string, string>>
  readonly text?: string
}

const Taken = z.object({
  app: z.object({ key: z.string() }).optional(),
  key: z.object({ key: z.string() }).optional(),
  webhook: z.object({ id: z.string(), secret: z.string() }).optional(),
})
type Taken = z.infer<typeof Taken>

/** Makes a visitor of payments who calls with the key of an app. */
export function createVisitor({ url, key }: { readonly url: string; readonly key: string }): Visitor {
  const kept: string[] = []
  const own = {
    authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}`,
    'content-type': 'application/json',
  }
  const call = async (path: string, init: RequestInit) => {
    const response = await fetch(url + path, { redirect: 'manual', ...init })
    return { response, text: await response.text() }
  }
  const keep = async (path: string, init: RequestInit) => {
    const { response, text } = await call(path, init)
    kept.push(`${response.status} ${JSON.stringify([...response.headers])}\n${text}\n`)
    return { response, text }
  }
  const read = async (path: string, init: RequestInit) => (await keep(path, init)).text
  return {
    ask: (method, path, body, headers) =>
      read(path, { method, headers: { ...own, ...headers }, ...(body ? { body: JSON.stringify(body) } : {}) }),
    send: (method, path, text) => read(path, { method, headers: own, body: text }),
    answer: async (method, path, { text, headers }) =>
      (await keep(path, { method, headers, ...(text === undefined ? {} : { body: text }) })).response,
    take: async (method, path, body) => {
      const { response, text } = await call(path, { method, headers: own, body: JSON.stringify(body ?? {}) })
      if (!response.ok) throw new Error(`${method} ${path} answers ${response.status}: ${text}`)
      return Taken.parse(JSON.parse(text))
    },
    answers: () => kept.join(''),
  }
}
