import type { FastifyPluginAsync } from 'fastify'
import { refuseFeature } from '../plugins/refuse-feature.ts'

/** `/oauth` and every path below it: refused, because auth is not an OAuth server. */
export const oauthRoutes: FastifyPluginAsync = async (app) => {
  app.all('/oauth', refuseFeature('oauthServer'))
  app.all('/oauth/*', refuseFeature('oauthServer'))
}
