import compress from '@fastify/compress'
import { chooseEncoding, pack } from '@trestle/common/server/shared-asset.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { layOut } from '../pagination/response-layout.ts'

/** Headers of every answer. */
export const ANSWER_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

/** Answers of fewer bytes are not worth a compression. */
const THRESHOLD_BYTES = 1_024
/** Pictures and the like are compressed in themselves. */
const TEXT = /^(application\/json|text\/)/

/** How answers are written: the exact layout that existing clients read, never stored, compressed on request. */
export const answers = fp(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.headers(ANSWER_HEADERS)
      // Fastify gives unknown paths the serializer that was set when their handler was: none; and no type with one of their own.
      if (request.is404) {
        reply.type('application/json; charset=utf-8').serializer((payload: unknown) => layOut(payload, 404))
      }
      done()
    })
    app.setReplySerializer(layOut)
    app.addHook('onSend', compressWhole)
    // Compresses streams. What is compressed already is left alone.
    await app.register(compress, {
      encodings: ['gzip', 'identity'],
      threshold: THRESHOLD_BYTES,
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
  if (payload.length < THRESHOLD_BYTES || reply.hasHeader('content-encoding')) return payload
  if (!TEXT.test(String(reply.getHeader('content-type')))) return payload
  const encoding = chooseEncoding(request.headers['accept-encoding'], ['gzip'])
  reply.header('vary', 'accept-encoding')
  if (encoding === 'identity') return payload
  reply.header('content-encoding', encoding).removeHeader('content-length')
  return await pack(Buffer.from(payload), encoding)
}
