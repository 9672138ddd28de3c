import type { FastifyPluginAsync } from 'fastify'
import { refuseFeature } from '../../plugins/refuse-feature.ts'

/** `/user/oauth` and every path below it: refused, because auth is not an OAuth server. */
export const userOauthRoutes: FastifyPluginAsync = async (app) => {
  app.all('/user/oauth', refuseFeature('oauthServer'))
  app.all('/user/oauth/*', refuseFeature('oauthServer'))
}
