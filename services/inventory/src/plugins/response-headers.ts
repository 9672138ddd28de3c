import fp from 'fastify-plugin'

/** Headers of every answer, also of those to requests that no route sees. A route may say otherwise for itself. */
export const RESPONSE_HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' } as const

/** Puts the headers of every answer on, and the size of the answer into its log line. */
export const responseHeaders = fp(
  async (app) => {
    app.addHook('onRequest', (_request, reply, done) => {
      reply.headers(RESPONSE_HEADERS)
      done()
    })
    app.addHook('onResponse', (request, reply, done) => {
      request.logFields = { bytes: Number(reply.getHeader('content-length') ?? 0), ...request.logFields }
      done()
    })
  },
  { name: 'response-headers' },
)
