import compress from '@fastify/compress'
import { chooseEncoding, pack } from '@trestle/common/documents/shared-asset.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { layOut } from '../error-body.ts'

/** Headers of every answer: no cache stores it, and no browser guesses its type. */
export const ANSWER_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

/** Compressing shorter answers would save nothing. */
const COMPRESSED_BYTES_MIN = 1_024
/** Pictures are compressed already. */
const TEXT = /^(application\/json|text\/)/

/** Writes answers in the exact layout that existing clients read. Caches never store them. Compresses on request. */
export const answers = fp(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.headers(ANSWER_HEADERS)
      // Fastify took the serializer for unknown paths before this plugin set one, and without a serializer it sets no type.
      if (request.is404) {
        reply.type('application/json; charset=utf-8').serializer((payload: unknown) => layOut(payload, 404))
      }
      done()
    })
    app.setReplySerializer(layOut)
    app.addHook('onSend', compressWhole)
    // For streams: `compressWhole` sees only answers that are whole. An answer that is compressed already stays as it is.
    await app.register(compress, {
      encodings: ['gzip', 'identity'],
      threshold: COMPRESSED_BYTES_MIN,
      globalDecompression: false,
    })
  },
  { name: 'answers' },
)

/**
 * Compresses a whole answer at once. A stream would keep the 256 KiB of its compressor until the client has taken the answer,
 * and the client decides when that is.
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

/** Sets the status and headers of an answer to a POST that made an object. `replayed`: it did so when it was first sent. */
export function answerCreated(reply: FastifyReply, { replayed }: { readonly replayed: boolean }): void {
  reply.code(201)
  if (replayed) reply.header('idempotent-replayed', 'true')
}
