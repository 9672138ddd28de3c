import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { errorAnswers } from '../../error-body.ts'
import { type Overview, showOverview } from '../../use-cases/show-overview.ts'

const FRESH_MS = 60_000
const ALL = 'all'

const Health = z.string().meta({ example: 'ok' })
const OverviewCounts = z.object({
  users: z
    .object({ total: z.int(), confirmed: z.int(), banned: z.int(), anonymous: z.int() })
    .meta({ description: 'Above 100,000 users these are estimates' }),
  days: z
    .array(z.object({ date: z.iso.date(), sign_ups: z.int(), sign_ins: z.int() }))
    .meta({ description: 'The last 30 UTC days, the oldest first' }),
  messages: z.object({ waiting: z.int(), failed: z.int() }),
})
/** Contains no counts while the database is unavailable. */
const OverviewView = OverviewCounts.partial().extend({
  health: z
    .object({ database: Health, mail: Health, queue: Health })
    .meta({ description: 'ok, or a short text of what is wrong' }),
})

/** `GET /operator/overview`: counts and health for the operators' start page (console reference: Overview of auth). */
export const operatorOverviewRoutes: FastifyPluginAsyncZod = async (app) => {
  // Cache the overview, because the page requests it repeatedly. The sums of a large database take a second.
  const overviews = new LRUCache<typeof ALL, Overview>({
    max: 1,
    ttl: FRESH_MS,
    fetchMethod: async (_key, _stale, { options }) => {
      const overview = await showOverview(app.deps)
      // Show the counts as soon as the database is back.
      if (overview.counts === undefined) options.ttl = 1
      return overview
    },
  })
  app.get(
    '/operator/overview',
    {
      config: { action: 'overview.read' },
      schema: {
        operationId: 'getOverview',
        tags: ['Operators'],
        summary: 'Get counts and health for the first page',
        description: 'The answer may be a minute old.',
        response: { 200: OverviewView, ...errorAnswers(401, 404) },
      },
    },
    async () => viewOverview(await overviews.forceFetch(ALL)),
  )
}

function viewOverview({ counts, health }: Overview): z.output<typeof OverviewView> {
  if (counts === undefined) return { health }
  const { users, days, messages } = counts
  const shown = days.map(({ date, signUps, signIns }) => ({ date, sign_ups: signUps, sign_ins: signIns }))
  return { users, days: shown, messages, health }
}
