import type { FastifyPluginAsync } from 'fastify'
import { refuseFeature } from '../../plugins/refuse-feature.ts'

/** `/admin/sso` and all paths below: rejected, because auth does not support SAML. */
export const adminSsoRoutes: FastifyPluginAsync = async (app) => {
  app.all('/admin/sso', refuseFeature('saml'))
  app.all('/admin/sso/*', refuseFeature('saml'))
}
