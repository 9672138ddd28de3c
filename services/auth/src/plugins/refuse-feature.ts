import type { FastifyInstance, RouteShorthandOptionsWithHandler } from 'fastify'
import fp from 'fastify-plugin'
import { notFound, oauthServerDisabled, passkeysDisabled, samlDisabled } from '../errors.ts'

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

/** Refuses a path that the settings leave out, as an unknown one. */
export function refusePath(): never {
  throw notFound()
}

/** Guards a context of passkeys: where they are switched off, no other error of a request is reported. */
export const requirePasskeys = fp(
  async (app: FastifyInstance) => {
    app.addHook('onRequest', (request, _reply, done) => {
      done(request.server.deps.config.webauthn.passkeysEnabled ? undefined : passkeysDisabled())
    })
  },
  { name: 'require-passkeys' },
)
