import type { FastifyPluginAsync } from 'fastify'
import { refuseFeature } from '../../plugins/refuse-feature.ts'

/** `/user/oauth` and every path below: refused, because auth is no OAuth server. */
export const userOauthRoutes: FastifyPluginAsync = async (app) => {
  app.all('/user/oauth', refuseFeature('oauthServer'))
  app.all('/user/oauth/*', refuseFeature('oauthServer'))
}
