import { FairGate } from '@trestle/common/capacity/fair-gate.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { AuditEntryView, viewAuditEntry } from '../../audit/audit-repository.ts'
import { errorAnswers } from '../../error-body.ts'
import { serverBusy } from '../../errors.ts'
import { listOperatorAudit } from '../../operators/operator-audit-repository.ts'
import { operatorListFields, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'
import { plainJson } from '../../plugins/plain-json.ts'

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

/** How many pages are read at a time, and for one operator: sign-ins need the other connections. */
const READS = { places: 4, each: 2, patienceMs: 10_000 } as const

/** `GET /operator/audit`: the audit log, for operators (console reference: Routes of auth). */
export const operatorAuditRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const gate = new FairGate({ ...READS, refuse: serverBusy })
  const options = { config: { action: 'audit.read' }, schema, serializerCompiler: plainJson } as const
  app.get('/operator/audit', options, async ({ query, operator }, reply) => {
    const page = readOperatorPage('audit', query)
    const { user, action } = query
    const read = () => listOperatorAudit(deps.db, { ...page, user, action })
    const rows = await gate.run(read, { client: operator.actor.id })
    return { entries: showOperatorPage(reply, page, { rows, placeOf: (entry) => entry }).map(viewAuditEntry) }
  })
}
