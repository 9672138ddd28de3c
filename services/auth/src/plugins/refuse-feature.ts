import type { ErrorFactory } from '@trestle/common/errors/define-error.ts'
import type { RouteShorthandOptionsWithHandler } from 'fastify'

/**
 * A route of a feature that this service does not have (reference: Endpoints that are not served): the error tells a client more
 * than an unknown path would.
 */
export function refuseFeature(error: ErrorFactory): RouteShorthandOptionsWithHandler {
  return {
    schema: { hide: true },
    // Refuse before the body is read: an error of the body would hide that the feature is off.
    onRequest: (_request, _reply, done) => done(error()),
    handler: async () => {},
  }
}
