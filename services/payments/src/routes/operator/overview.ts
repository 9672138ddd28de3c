import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { operatorAnswers } from '../../error-body.ts'
import type { MerchantMode } from '../../operators/overview-repository.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { type Overview, showOverview } from '../../use-cases/show-overview.ts'

const FRESH_MS = 60_000

const OverviewCounts = z.object({
  days: z
    .array(
      z.object({
        date: z.iso.date(),
        currency: z.string(),
        volume: z.int().describe('What was captured until now of the payments of the day, in minor units'),
        captures: z.int().describe('Payments of the day of which something was captured'),
        declines: z.int().describe('Payments that were refused'),
      }),
    )
    .describe('The last 30 UTC days, by the day on which payments were authorized. Days without payments are left out'),
  openDisputes: z.int(),
  payoutsDue: z
    .array(z.object({ currency: z.string(), amount: z.int(), merchants: z.int() }))
    .describe('Balances above 0. A payout takes less where disputes are open or captures are young'),
  openExceptions: z.int(),
  unknownAttempts: z.int(),
  failedDeliveries: z.int(),
  deadJobs: z.array(z.object({ task: z.string(), count: z.int() })),
})
/** Contains no counts while the database is unavailable. */
const OverviewView = OverviewCounts.partial().extend({
  health: z
    .object({ database: z.string(), queue: z.string(), mail: z.string(), rates: z.string() })
    .describe('ok, or a short text of what is wrong'),
})

/** Returns counts and health for the start page of operators (console reference: Overview of payments). */
export const operatorOverviewRoutes: Routes = async (app) => {
  // Cache the overview. The page requests it repeatedly, and its sums read a month of payments.
  const overviews = new LRUCache<MerchantMode, Overview>({
    max: 2,
    ttl: FRESH_MS,
    fetchMethod: async (mode, _stale, { options }) => {
      const overview = await showOverview(app.deps, mode)
      // Do not cache an overview without counts, so that the counts return as soon as the database does.
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
        summary: 'Counts and health for the first page, at most a minute old',
        querystring: z.object({ test: z.boolean().default(false).describe('Of test merchants, not of live ones') }),
        response: { 200: OverviewView, ...operatorAnswers(400) },
      },
    },
    async ({ query }) => viewOverview(await overviews.forceFetch(requireValues(query).test ? 'test' : 'live')),
  )
}

function viewOverview({ counts: all, health }: Overview): z.infer<typeof OverviewView> {
  if (all === undefined) return { health }
  const { days, payoutsDue, deadJobs, ...counts } = all
  return {
    days: days.map(({ volume, ...day }) => ({ ...day, volume: Number(volume) })),
    ...counts,
    payoutsDue: payoutsDue.map(({ amount, ...due }) => ({ ...due, amount: Number(amount) })),
    deadJobs: [...deadJobs],
    health,
  }
}
