import type { RouteShorthandOptionsWithHandler } from 'fastify'
import { oauthServerDisabled, samlDisabled } from '../errors.ts'

const ERRORS = { oauthServer: oauthServerDisabled, saml: samlDisabled } as const

/**
 * A route of a feature that this service does not have (reference: Endpoints that are not served): the error tells a client more
 * than an unknown path would.
 */
export function refuseFeature(feature: keyof typeof ERRORS): RouteShorthandOptionsWithHandler {
  return {
    schema: { hide: true },
    // Refuse before the body is read: an error of the body would hide that the feature is off.
    onRequest: (_request, _reply, done) => done(ERRORS[feature]()),
    handler: async () => {},
  }
}
