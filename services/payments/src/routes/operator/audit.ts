import { z } from 'zod'
import { operatorAnswers } from '../../error-body.ts'
import { type AuditEntry, listAudit } from '../../operators/operator-audit-repository.ts'
import { operatorListQuery, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { id, text } from '../../requests/fields.ts'

const AuditQuery = operatorListQuery('audit').extend({
  merchant: id().optional().describe('Only what concerns this merchant'),
  actor: text().trim().min(1).max(255).optional().describe('Only what this operator, app or user did, by their id'),
  action: text()
    .trim()
    .min(1)
    .max(255)
    .optional()
    .describe('Only this action, such as `key.created`; of an operator also without `operator.`'),
})

const AuditEntryView = z.object({
  id: z.string(),
  created: z.iso.datetime(),
  merchantId: z.string().optional().describe('Absent when no merchant is concerned'),
  identityId: z.string().optional().describe('The app or user who acted. Absent: an operator, whom `payload` names'),
  action: z.string(),
  payload: z.unknown().describe('What was done; of an operator with who acted, by which key, and what was changed'),
})

export const operatorAuditRoutes: Routes = async (app) => {
  app.get(
    '/operator/audit',
    {
      config: { action: 'audit.read' },
      schema: {
        operationId: 'listAudit',
        tags: ['Operators'],
        summary: 'List the audit log',
        querystring: AuditQuery,
        response: { 200: z.object({ entries: z.array(AuditEntryView) }), ...operatorAnswers(400) },
      },
    },
    async ({ query }, reply) => {
      const { merchant: merchantId, actor, action, ...place } = requireValues(query)
      const search = { ...readOperatorPage('audit', place), merchantId, actor, action }
      const rows = await listAudit(app.deps.operatorPools, search)
      return { entries: showOperatorPage(reply, 'audit', { limit: place.limit, rows }).map(viewEntry) }
    },
  )
}

function viewEntry({ merchantId, identityId, created, ...entry }: AuditEntry): z.infer<typeof AuditEntryView> {
  return {
    ...entry,
    created: created.toISOString(),
    merchantId: merchantId ?? undefined,
    identityId: identityId ?? undefined,
  }
}
