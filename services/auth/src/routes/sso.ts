import type { FastifyPluginAsync } from 'fastify'
import { refuseFeature } from '../plugins/refuse-feature.ts'

/** `/sso` and every path below it: refused, because SAML is not implemented. */
export const ssoRoutes: FastifyPluginAsync = async (app) => {
  app.all('/sso', refuseFeature('saml'))
  app.all('/sso/*', refuseFeature('saml'))
}
