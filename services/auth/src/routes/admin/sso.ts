import type { FastifyPluginAsync } from 'fastify'
import { refuseFeature } from '../../plugins/refuse-feature.ts'

/** `/admin/sso` and every path below: refused, because SAML is not built. */
export const adminSsoRoutes: FastifyPluginAsync = async (app) => {
  app.all('/admin/sso', refuseFeature('saml'))
  app.all('/admin/sso/*', refuseFeature('saml'))
}
