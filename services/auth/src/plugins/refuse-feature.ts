import type { FastifyInstance, RouteShorthandOptionsWithHandler } from 'fastify'
import fp from 'fastify-plugin'
import { notFound, oauthServerDisabled, passkeysDisabled, samlDisabled } from '../errors.ts'

const ERRORS = { oauthServer: oauthServerDisabled, saml: samlDisabled } as const

/**
 * Creates a route for a feature that this service lacks (reference: Endpoints that are not served). Its error is more helpful
 * than that of an unknown path.
 */
export function refuseFeature(feature: keyof typeof ERRORS): RouteShorthandOptionsWithHandler {
  return {
    schema: { hide: true },
    // Reject the request before its body is read. Otherwise an error in the body would hide that the feature is off.
    onRequest: (_request, _reply, done) => done(ERRORS[feature]()),
    handler: async () => {},
  }
}

/** Rejects a path that the settings switch off, like an unknown path. */
export function refusePath(): never {
  throw notFound()
}

/** Rejects all requests in a context if passkeys are off, before any other check. */
export const requirePasskeys = fp(
  async (app: FastifyInstance) => {
    app.addHook('onRequest', (request, _reply, done) => {
      done(request.server.deps.config.webauthn.passkeysEnabled ? undefined : passkeysDisabled())
    })
  },
  { name: 'require-passkeys' },
)
