import type { FastifyPluginAsync } from 'fastify'
import { refuseFeature } from '../plugins/refuse-feature.ts'

/** `/sso` and every path below: refused, because SAML is not built. */
export const ssoRoutes: FastifyPluginAsync = async (app) => {
  app.all('/sso', refuseFeature('saml'))
  app.all('/sso/*', refuseFeature('saml'))
}
