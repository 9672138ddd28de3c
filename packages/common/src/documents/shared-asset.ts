import { hash } from 'node:crypto'
import { setImmediate as nextTick } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** The content encoding of a response (RFC 9110, section 8.4). `identity` means that the bytes are not compressed. */
export type Encoding = 'br' | 'gzip' | 'identity'

export interface SharedAssetOptions {
  readonly type: string
  readonly cacheControl: string
  readonly headers?: Readonly<Record<string, string>>
  /** Produces the bytes in an encoding. Called once per encoding, when a client first accepts it. */
  readonly load: (encoding: Encoding) => Promise<Buffer>
}

export type ServeAsset = (request: FastifyRequest, reply: FastifyReply) => Promise<never>

/** The number of response bytes that may be sent in a tick of the event loop. Copying this many takes about 5 ms. */
const TICK_BYTES = 4 * 1_024 * 1_024

interface Variant {
  readonly bytes: Buffer
  readonly etag: string
}

/**
 * Returns a handler that sends every client the same bytes from memory, compressed once per encoding. Thousands of clients that
 * read slowly share one copy. A client that already has the bytes gets 304. In each tick of the event loop the handler sends at
 * most 4 MiB, or one longer response.
 */
export function sharedAsset({ type, cacheControl, headers, load }: SharedAssetOptions): ServeAsset {
  const spend = createByteBudget()
  const variants = new Map<Encoding, Promise<Variant>>()
  const find = (encoding: Encoding): Promise<Variant> => {
    const known = variants.get(encoding)
    if (known !== undefined) return known
    const loading = load(encoding).then((bytes) => ({ bytes, etag: `"${hash('sha256', bytes, 'base64url')}"` }))
    variants.set(encoding, loading)
    // Forget a failed load, so that the next request tries again.
    loading.catch(() => variants.delete(encoding))
    return loading
  }
  return async (request, reply) => {
    const encoding = chooseEncoding(request.headers['accept-encoding'])
    const { bytes, etag } = await find(encoding)
    const isCurrent = isKnown(request.headers['if-none-match'], etag)
    // Wait before the headers are set. An error sent by the deadline meanwhile must not have them.
    if (!isCurrent) await spend(bytes.length)
    reply.headers({ ...headers, 'cache-control': cacheControl, etag, vary: 'accept-encoding' })
    if (isCurrent) return reply.code(304).send()
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    return reply.type(type).send(bytes)
  }
}

/**
 * Returns a function that waits for a tick of the event loop with enough budget for `bytes`. The kernel copies the bytes of a
 * response synchronously. Hundreds of clients may wait until the same megabytes are loaded. Without a budget, these responses
 * would delay all other clients by a second.
 */
function createByteBudget(): (bytes: number) => Promise<void> {
  let last = Promise.resolve()
  let freeBytes = TICK_BYTES
  return (bytes) => {
    if (bytes > freeBytes) {
      last = last.then(() => nextTick())
      freeBytes = TICK_BYTES
    }
    freeBytes -= bytes
    return last
  }
}

/** Compresses bytes at the time of a request, for content without a precompressed copy. */
export async function pack(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  // Import here, because an import at the top would delay every start for a rare request.
  const { brotliCompress, constants, gzip } = await import('node:zlib')
  if (encoding === 'identity') return bytes
  if (encoding === 'gzip') return promisify(gzip)(bytes)
  // Quality 11, the maximum, takes seconds for a megabyte and saves only a further tenth.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  return promisify<Buffer, object, Buffer>(brotliCompress)(bytes, { params })
}

/**
 * Returns the encoding that the client prefers (RFC 9110, section 12.5.3). If the client has no preference, returns the first of
 * `offered`, which is ordered by size, and `identity` last.
 */
export function chooseEncoding(accepted: string | undefined, offered: readonly Encoding[] = ['br', 'gzip']): Encoding {
  const client: Preferring = new Negotiator({ headers: { 'accept-encoding': accepted } })
  const [best] = client.encodings([...offered, 'identity'], { preferred: [...offered] })
  return offered.find((encoding) => encoding === best) ?? 'identity'
}

/** Negotiator 1.1 accepts preferences, but its types do not declare them. */
interface Preferring {
  encodings(available: string[], options: { readonly preferred: string[] }): string[]
}

/** Ignores `W/`: a cache that compressed or decompressed the bytes may have made the tag weak. */
function isKnown(condition: string | undefined, etag: string): boolean {
  const tags = (condition ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}
