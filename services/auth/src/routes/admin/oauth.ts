import type { FastifyPluginAsync } from 'fastify'
import { refuseFeature } from '../../plugins/refuse-feature.ts'

/** `/admin/oauth` and all paths below: rejected, because auth is not an OAuth server. */
export const adminOauthRoutes: FastifyPluginAsync = async (app) => {
  app.all('/admin/oauth', refuseFeature('oauthServer'))
  app.all('/admin/oauth/*', refuseFeature('oauthServer'))
}
