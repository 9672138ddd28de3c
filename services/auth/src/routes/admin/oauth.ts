import type { FastifyPluginAsync } from 'fastify'
import { refuseFeature } from '../../plugins/refuse-feature.ts'

/** `/admin/oauth` and every path below: refused, because auth is no OAuth server. */
export const adminOauthRoutes: FastifyPluginAsync = async (app) => {
  app.all('/admin/oauth', refuseFeature('oauthServer'))
  app.all('/admin/oauth/*', refuseFeature('oauthServer'))
}
