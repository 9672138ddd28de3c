import { pathOf } from '@trestle/common/telemetry/path-of.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  AuditEntryView,
  countAuditEntries,
  listAuditEntries,
  parseAuditQuery,
  viewAuditEntry,
} from '../../audit/audit-repository.ts'
import { errorAnswers } from '../../error-body.ts'
import { pageFields, pageHeaders, parsePage } from '../../pagination/page-query.ts'
import { plainJson } from '../../plugins/answers.ts'

const AuditQuery = z.object({
  ...pageFields,
  query: z.string().optional().meta({
    pattern: '^(author|action|type):',
    description: 'What to look for: author:…, action:… or type:…, with a part of the value',
  }),
})

/** `GET /admin/audit`: a page of the audit log, newest first, and its total in the headers. */
export const adminAuditRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/admin/audit',
    {
      schema: {
        operationId: 'listAuditLog',
        tags: ['Admin'],
        summary: 'List the audit log',
        description: 'Newest first. The header Link leads to the next page.',
        querystring: AuditQuery,
        response: { 200: z.array(AuditEntryView), ...errorAnswers(400, 401, 403) },
      },
      serializerCompiler: plainJson,
    },
    async ({ query, url }, reply) => {
      const { db } = app.deps
      const { page, perPage } = parsePage(query)
      const filter = parseAuditQuery(query.query)
      const entries = await listAuditEntries(db, { filter, limit: perPage, offset: (page - 1) * perPage })
      const total = await countAuditEntries(db, filter)
      reply.headers(pageHeaders({ path: pathOf(url), page, perPage, total, query: { query: query.query } }))
      return entries.map(viewAuditEntry)
    },
  )
}
