/** The status, media type and headers of an answer, which a handler may set before it returns. */
export class ResponseState {
  /** Replaces the default status of the returned value. */
  status: number | undefined
  /** Media type of the answer. It also decides whether a string is sent as JSON or as text. */
  type: string | undefined
  #headers: Headers | undefined

  /** Headers of the answer. They refuse line breaks. */
  get headers(): Headers {
    this.#headers ??= new Headers()
    return this.#headers
  }

  /** The headers, if one was set. */
  get setHeaders(): Headers | undefined {
    return this.#headers
  }

  /** Adds a name to `Vary`, once. */
  vary(name: string): void {
    const known = this.#headers?.get('vary')?.toLowerCase().split(', ') ?? []
    if (!known.includes(name.toLowerCase())) this.headers.append('vary', name)
  }

  /** Drops the headers of the content, because an error replaces it. Headers of limits, CORS and `Vary` stay. */
  reset(): void {
    this.status = undefined
    this.type = undefined
    for (const name of [...(this.#headers?.keys() ?? [])]) {
      if (content.has(name) || (caching.has(name) && !this.#forbidsStore())) this.#headers?.delete(name)
    }
  }

  #forbidsStore(): boolean {
    return this.#headers?.get('cache-control')?.includes('no-store') ?? false
  }
}

const caching = new Set(['cache-control', 'expires', 'pragma'])
const content = new Set([
  ...['content-type', 'content-length', 'content-encoding', 'content-language', 'content-range'],
  ...['content-disposition', 'content-location', 'etag', 'last-modified', 'accept-ranges', 'location'],
])

/**
 * Whether a value is a web `Response`, of the platform or of a library with its own `fetch`. Their classes differ, but both have
 * this tag (Web IDL, 3.7.6).
 */
export function isWebResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]'
}
