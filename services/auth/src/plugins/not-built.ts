import type { ErrorFactory } from '@trestle/common/errors/define-error.ts'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { oauthServerDisabled, samlDisabled } from '../errors.ts'

/**
 * Paths whose features are not built, for any method, and everything below them
 * (reference: Endpoints that are not served).
 */
const NOT_BUILT: Readonly<Record<string, ErrorFactory>> = {
  '/sso': samlDisabled,
  '/oauth': oauthServerDisabled,
  '/user/oauth': oauthServerDisabled,
}
const NOT_BUILT_FOR_ADMINS: Readonly<Record<string, ErrorFactory>> = {
  '/admin/sso': samlDisabled,
  '/admin/oauth': oauthServerDisabled,
}

/** Says of features which a client may know that they are off, where an unknown path would say nothing. */
export const notBuilt: FastifyPluginAsync = (app) => refuse(app, NOT_BUILT)

/** The same in the context of admins. */
export const notBuiltForAdmins: FastifyPluginAsync = (app) => refuse(app, NOT_BUILT_FOR_ADMINS)

async function refuse(app: FastifyInstance, features: Readonly<Record<string, ErrorFactory>>): Promise<void> {
  for (const [path, error] of Object.entries(features)) {
    for (const url of [path, `${path}/*`]) {
      // Before the body is read: it would be judged for nothing.
      app.all(url, { schema: { hide: true }, onRequest: (_request, _reply, done) => done(error()) }, async () => {})
    }
  }
}
