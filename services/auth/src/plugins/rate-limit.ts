import type { Meter } from '@opentelemetry/api'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { overEmailRateLimit } from '../errors.ts'
import type { Bucket, RateLimits } from '../rate-limits/rate-limits.ts'

interface RateLimitOptions {
  readonly rateLimits: RateLimits
  readonly meter: Meter
}

/**
 * Counts the requests of routes that name a bucket in their config, before their body is read. Counts in a metric the requests
 * that the limit of mails refused.
 */
export const rateLimit = fp<RateLimitOptions>(
  async (app: FastifyInstance, { rateLimits, meter }) => {
    const noMailLeft = meter.createCounter('auth_email_rate_limit_total', {
      description: 'Requests refused because too many mails have gone out',
    })
    app.addHook('onResponse', (request, _reply, done) => {
      if (request.errorCode === overEmailRateLimit.code) noMailLeft.add(1, { path: request.routeOptions.url ?? '' })
      done()
    })
    app.addHook('onRequest', (request, _reply, done) => {
      const { rateBucket } = request.routeOptions.config
      if (rateBucket === undefined) return done()
      rateLimits.consume(rateBucket, request.clientAddress.limitKey).then(() => done(), done)
    })
  },
  { name: 'rate-limit', dependencies: ['client-address'] },
)

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The bucket that counts the requests of the route. */
    rateBucket?: Bucket
  }
}
