import compress from '@fastify/compress'
import fp from 'fastify-plugin'
import { layOut } from '../pagination/response-layout.ts'

/** Headers of every answer. */
export const ANSWER_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

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
    await app.register(compress, { encodings: ['gzip', 'identity'], threshold: 1_024, globalDecompression: false })
  },
  { name: 'answers' },
)
