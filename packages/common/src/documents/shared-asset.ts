import { hash } from 'node:crypto'
import { setImmediate as nextTick } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** The encoding of the bytes of an answer (RFC 9110, section 8.4). `identity`: the bytes are as they were made. */
export type Encoding = 'br' | 'gzip' | 'identity'

/** An answer that is the same for every client. */
export interface SharedAssetOptions {
  readonly type: string
  readonly cacheControl: string
  readonly headers?: Readonly<Record<string, string>>
  /** Makes the bytes in an encoding. Called once for each encoding, when a client first accepts it. */
  readonly load: (encoding: Encoding) => Promise<Buffer>
}

export type ServeAsset = (request: FastifyRequest, reply: FastifyReply) => Promise<never>

/** Bytes of answers that may leave in a tick of the event loop: some 5 ms of copying. */
const TICK_BYTES = 4 * 1_024 * 1_024

interface Variant {
  readonly bytes: Buffer
  readonly etag: string
}

/**
 * Returns a handler that answers every client with the same bytes in memory, compressed once for each encoding: thousands of
 * clients that do not read share one copy. A client that has the bytes already gets 304. In each tick of the
 * event loop 4 MiB leave at most, or one answer that is longer.
 */
export function sharedAsset({ type, cacheControl, headers, load }: SharedAssetOptions): ServeAsset {
  const spend = createByteBudget()
  const variants = new Map<Encoding, Promise<Variant>>()
  const find = (encoding: Encoding): Promise<Variant> => {
    const known = variants.get(encoding)
    if (known !== undefined) return known
    const loading = load(encoding).then((bytes) => ({ bytes, etag: `"${hash('sha256', bytes, 'base64url')}"` }))
    variants.set(encoding, loading)
    // The next request tries again.
    loading.catch(() => variants.delete(encoding))
    return loading
  }
  return async (request, reply) => {
    const encoding = chooseEncoding(request.headers['accept-encoding'])
    const { bytes, etag } = await find(encoding)
    const isCurrent = isKnown(request.headers['if-none-match'], etag)
    // An answer that the deadline sends instead must not have the headers of these bytes.
    if (!isCurrent) await spend(bytes.length)
    reply.headers({ ...headers, 'cache-control': cacheControl, etag, vary: 'accept-encoding' })
    if (isCurrent) return reply.code(304).send()
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    return reply.type(type).send(bytes)
  }
}

/**
 * Returns a function that waits for a tick of the event loop that still has room for so many bytes. The kernel copies the bytes
 * of an answer at once, and hundreds of clients may wait for the same megabytes to be loaded: together they would keep all other
 * clients waiting for a second.
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

/** Compresses bytes that have no compressed copy. */
export async function pack(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  // An import at the start would delay every start for a rare request.
  const { brotliCompress, constants, gzip } = await import('node:zlib')
  if (encoding === 'identity') return bytes
  if (encoding === 'gzip') return promisify(gzip)(bytes)
  // The highest quality, 11, takes seconds for a megabyte and saves another tenth.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  return promisify<Buffer, object, Buffer>(brotliCompress)(bytes, { params })
}

/**
 * The encoding that the client likes best (RFC 9110, section 12.5.3). Of several that it likes alike it is the
 * first of those that are offered, smallest first, and only then `identity`.
 */
export function chooseEncoding(accepted: string | undefined, offered: readonly Encoding[] = ['br', 'gzip']): Encoding {
  const client: Preferring = new Negotiator({ headers: { 'accept-encoding': accepted } })
  const [best] = client.encodings([...offered, 'identity'], { preferred: [...offered] })
  return offered.find((encoding) => encoding === best) ?? 'identity'
}

/** Negotiator 1.1 takes preferences, which its types do not know. */
interface Preferring {
  encodings(available: string[], options: { readonly preferred: string[] }): string[]
}

/** A cache may have weakened the tag when it compressed or decompressed the bytes. */
function isKnown(condition: string | undefined, etag: string): boolean {
  const tags = (condition ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}
