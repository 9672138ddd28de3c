import { type BodySource, webBody } from '../body/body-source.ts'
import type { CallError } from '../errors.ts'
import type { ErrorLog, Incoming, RawRequest } from '../request/incoming.ts'

/** Adapts a `Request` of the Fetch Standard to the framework. */
export class FetchIncoming implements Incoming {
  readonly method: string
  readonly target: string
  readonly mountDepth = 0
  readonly id: string | undefined
  readonly refusal: CallError | undefined
  readonly log: ErrorLog | undefined
  readonly raw: RawRequest
  readonly #request: Request

  constructor(request: Request, extra: readonly unknown[]) {
    this.method = request.method
    // The target is the text after the scheme and the host. It has at least one character.
    this.target = request.url.slice(pathStart(request.url))
    this.raw = { request, extra }
    this.#request = request
  }

  get body(): BodySource | undefined {
    const { body, headers } = this.#request
    return body === null ? undefined : webBody(body, headers.get('content-length'))
  }

  header(name: string): string | undefined {
    return this.#request.headers.get(name) ?? undefined
  }

  headers(): Headers {
    return this.#request.headers
  }

  signal(): AbortSignal {
    return this.#request.signal
  }

  /** With fetch, an answer is always a return value. */
  isAnswered(): boolean {
    return false
  }

  address(): string {
    return this.raw.extra.map(addressIn).find((address) => address !== undefined) ?? ''
  }

  origin(): string {
    return this.#request.url.slice(0, pathStart(this.#request.url))
  }
}

const SCHEME_LENGTH_MAX = 'https://'.length

function pathStart(url: string): number {
  return url.indexOf('/', SCHEME_LENGTH_MAX)
}

/** Reads the client's address from `{ remoteAddr }` of Deno or `{ incoming }` of Hono on Node.js. */
function addressIn(extra: unknown): string | undefined {
  const host = property(property(extra, 'remoteAddr'), 'hostname')
  const address = host ?? property(property(property(extra, 'incoming'), 'socket'), 'remoteAddress')
  return typeof address === 'string' ? address : undefined
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
