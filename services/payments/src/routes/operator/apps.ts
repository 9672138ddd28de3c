import { z } from 'zod'
import { AppKeyView } from '../../apps/app.ts'
import { type AppForOperator, appsForOperator } from '../../apps/app-repository.ts'
import { operatorAnswers } from '../../error-body.ts'
import { operatorListQuery, readOperatorPage, showOperatorPage } from '../../plugins/operator-list.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { text } from '../../requests/fields.ts'

const AppsQuery = operatorListQuery('apps').extend({
  search: text()
    .trim()
    .min(1)
    .max(255)
    .optional()
    .describe('A whole id, how a name begins, or the last four characters of a key'),
})

const AppForOperatorView = z.object({
  id: z.string(),
  name: z.string().optional(),
  created: z.iso.datetime(),
  keys: z.array(AppKeyView.extend({ revoked: z.iso.datetime().optional() })).describe('The newest 25'),
})

export const operatorAppsRoutes: Routes = async (app) => {
  app.get(
    '/operator/apps',
    {
      config: { action: 'apps.read' },
      schema: {
        operationId: 'listAppsAsOperator',
        tags: ['Operators'],
        summary: 'List and search the apps of everybody',
        querystring: AppsQuery,
        response: { 200: z.object({ apps: z.array(AppForOperatorView) }), ...operatorAnswers(400) },
      },
    },
    async ({ query }, reply) => {
      const { search, ...place } = requireValues(query)
      const page = readOperatorPage('apps', place)
      const found = await appsForOperator.page(app.deps.operatorPools, { ...page, search })
      return { apps: showOperatorPage(reply, 'apps', { limit: place.limit, ...found }).map(viewAppForOperator) }
    },
  )
}

function viewAppForOperator({ id, name, created, keys }: AppForOperator): z.infer<typeof AppForOperatorView> {
  return {
    id,
    name: name ?? undefined,
    created: created.toISOString(),
    keys: keys.map((key) => ({
      id: key.id,
      keyHint: key.hint,
      scopes: key.scopes === null ? undefined : [...key.scopes],
      created: instantOf(key.created),
      expires: key.expires === null ? undefined : instantOf(key.expires),
      lastUsed: key.lastUsed === null ? undefined : instantOf(key.lastUsed),
      revoked: key.revoked === null ? undefined : instantOf(key.revoked),
    })),
  }
}

/** Converts a time to UTC. PostgreSQL writes times in JSON with the offset of its session. */
function instantOf(text: string): string {
  return new Date(text).toISOString()
}
