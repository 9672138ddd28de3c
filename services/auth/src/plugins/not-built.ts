import type { ErrorFactory } from '@trestle/common/errors/define-error.ts'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { oauthServerDisabled, samlDisabled } from '../errors.ts'

/**
 * The paths of features that this service does not have, for all methods, with all paths below them (reference: Endpoints that
 * are not served).
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

/** Answers that a feature is off, which tells a client more than an unknown path. */
export const notBuilt: FastifyPluginAsync = (app) => refuse(app, NOT_BUILT)

/** The same for paths of admins. */
export const notBuiltForAdmins: FastifyPluginAsync = (app) => refuse(app, NOT_BUILT_FOR_ADMINS)

async function refuse(app: FastifyInstance, features: Readonly<Record<string, ErrorFactory>>): Promise<void> {
  for (const [path, error] of Object.entries(features)) {
    for (const url of [path, `${path}/*`]) {
      // Refuse before the body is read: its errors would mislead.
      app.all(url, { schema: { hide: true }, onRequest: (_request, _reply, done) => done(error()) }, async () => {})
    }
  }
}
