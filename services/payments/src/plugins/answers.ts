import compress from '@fastify/compress'
import { chooseEncoding, pack } from '@trestle/common/documents/shared-asset.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { layOut } from '../error-body.ts'

/** Headers of every response. Caches do not store it, and browsers do not guess its content type. */
export const ANSWER_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

/** The minimum size of a compressed response, in bytes. Compression of smaller responses saves nothing. */
const COMPRESSED_BYTES_MIN = 1_024
/** The compressible content types. Images are already compressed. */
const TEXT = /^(application\/json|text\/)/

/** Writes responses in the exact layout that existing clients expect. Forbids caching, and compresses on request. */
export const answers = fp(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.headers(ANSWER_HEADERS)
      // For unknown paths, Fastify chose its serializer before this plugin set one. Set the serializer and the content type here.
      if (request.is404) {
        reply.type('application/json; charset=utf-8').serializer((payload: unknown) => layOut(payload, 404))
      }
      done()
    })
    app.setReplySerializer(layOut)
    app.addHook('onSend', compressWhole)
    // Compresses streams, because `compressWhole` handles only complete responses. It leaves compressed responses unchanged.
    await app.register(compress, {
      encodings: ['gzip', 'identity'],
      threshold: COMPRESSED_BYTES_MIN,
      globalDecompression: false,
    })
  },
  { name: 'answers' },
)

/**
 * Compresses a complete response in memory. A stream compressor would hold 256 KiB until the client has read the response, and a
 * slow client could delay that for a long time.
 */
async function compressWhole(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
  if (payload.length < COMPRESSED_BYTES_MIN || reply.hasHeader('content-encoding')) return payload
  if (!TEXT.test(String(reply.getHeader('content-type')))) return payload
  const encoding = chooseEncoding(request.headers['accept-encoding'], ['gzip'])
  const known = [reply.getHeader('vary') ?? []].flat()
  reply.header('vary', [...new Set([...known, 'accept-encoding'])].join(', '))
  if (encoding === 'identity') return payload
  reply.header('content-encoding', encoding).removeHeader('content-length')
  return await pack(Buffer.from(payload), encoding)
}

/** Sets the status and headers after a POST that created an object. `replayed`: an earlier request created it. */
export function answerCreated(reply: FastifyReply, { replayed }: { readonly replayed: boolean }): void {
  reply.code(201)
  if (replayed) reply.header('idempotent-replayed', 'true')
}
