import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { AuditEntryView, viewAuditEntry } from '../../audit/audit-repository.ts'
import { errorAnswers } from '../../error-body.ts'
import { listOperatorAudit } from '../../operators/operator-audit-repository.ts'
import { plainJson } from '../../plugins/answers.ts'
import { operatorListFields, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'

const schema = {
  operationId: 'listAuditLogAsOperator',
  tags: ['Operators'],
  summary: 'List the audit log',
  description: 'Newest first. The header Link leads to the next page.',
  querystring: z.object({
    ...operatorListFields,
    user: z.guid().optional().meta({ description: 'Who did it, or to whom it was done. Refreshes are left out' }),
    action: z.string().optional().meta({ description: 'The whole action of an entry, or of an operator' }),
  }),
  response: { 200: z.object({ entries: z.array(AuditEntryView) }), ...errorAnswers(400, 401, 404) },
}

export const operatorAuditRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const options = { config: { action: 'audit.read' }, schema, serializerCompiler: plainJson } as const
  app.get('/operator/audit', options, async (request, reply) => {
    const { query } = request
    const page = readOperatorPage('audit', query)
    const { user, action } = query
    const rows = await request.withSlots(1, () => listOperatorAudit(deps.db, { ...page, user, action }))
    return { entries: showOperatorPage(reply, page, { rows, placeOf: (entry) => entry }).map(viewAuditEntry) }
  })
}
