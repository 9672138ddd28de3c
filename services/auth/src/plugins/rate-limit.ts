import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Bucket, RateLimits } from '../rate-limits/rate-limits.ts'

/** Counts the requests of routes that name a bucket in their config, before their body is read. */
export const rateLimit = fp<{ readonly rateLimits: RateLimits }>(
  async (app: FastifyInstance, { rateLimits }) => {
    app.addHook('onRequest', async (request) => {
      const { rateBucket } = request.routeOptions.config
      if (rateBucket) await rateLimits.consume(rateBucket, request.clientAddress.limitKey)
    })
  },
  { name: 'rate-limit', dependencies: ['client-address'] },
)

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The bucket that a request of this route is counted in. */
    rateBucket?: Bucket
  }
}
