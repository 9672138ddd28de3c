/** The status, media type and headers of an answer. A handler may set them before it returns. */
export class ResponseState {
  /** Replaces the default status of the returned value. */
  status: number | undefined
  /** The media type of the answer. It also decides whether a string is sent as JSON or as text. */
  type: string | undefined
  #headers: Headers | undefined

  /** The headers of the answer. Setting a value with line breaks throws. */
  get headers(): Headers {
    this.#headers ??= new Headers()
    return this.#headers
  }

  /** The headers, or `undefined` if none was set. */
  get setHeaders(): Headers | undefined {
    return this.#headers
  }

  /** Adds a name to the `Vary` header, unless the header already contains it. */
  vary(name: string): void {
    const known = this.#headers?.get('vary')?.toLowerCase().split(', ') ?? []
    if (!known.includes(name.toLowerCase())) this.headers.append('vary', name)
  }

  /** Removes the headers of the content, because an error replaces the content. Keeps headers of rate limits, CORS and `Vary`. */
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
 * Returns whether a value is a web `Response`, of the platform or of a library with its own `fetch`. Their classes differ, but
 * both have this tag (Web IDL, 3.7.6).
 */
export function isWebResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]'
}
