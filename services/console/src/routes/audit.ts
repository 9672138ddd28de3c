import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { AUDIT_LOGS, AuditQuery, auditPage, auditPath } from '../pages/audit-page.ts'
import { visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { refuseMissing, SERVICE_NAMES } from '../service-calls/service-call.ts'

const AuditParams = z.object({ service: z.enum(SERVICE_NAMES) })

export const auditRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/audit', (_request, reply) => reply.redirect(auditPath('auth'), 303))

  app.get('/audit/:service', { schema: { params: AuditParams, querystring: AuditQuery } }, async (request, reply) => {
    const { calls } = visitOf(request)
    const logs = AUDIT_LOGS.filter(({ service }) => calls.has(service))
    const log = logs.find(({ service }) => service === request.params.service)
    if (log === undefined) return refuseMissing()
    const listed = await calls.read(log.service, '/operator/audit', log.entries, log.query(request.query))
    return sendPage(request, reply, auditPage(request.query, listed, { log, logs }))
  })
}
