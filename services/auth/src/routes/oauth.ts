import type { FastifyPluginAsync } from 'fastify'
import { refuseFeature } from '../plugins/refuse-feature.ts'

/** `/oauth` and every path below: refused, because auth is no OAuth server. */
export const oauthRoutes: FastifyPluginAsync = async (app) => {
  app.all('/oauth', refuseFeature('oauthServer'))
  app.all('/oauth/*', refuseFeature('oauthServer'))
}
