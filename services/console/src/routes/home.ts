import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { overviewPage } from '../overview/overview-page.ts'
import {
  AuthOverview,
  InventoryOverview,
  type Overviews,
  PaymentsOverview,
  type Seen,
} from '../overview/overview-view.ts'
import { readWithDecimals } from '../pages/money.ts'
import { visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import type { Listed, OperatorCalls } from '../service-calls/operator-calls.ts'
import type { ServiceName } from '../service-calls/service-call.ts'

const OverviewQuery = z.object({ test: z.enum(['true', 'false']).prefault('false') })

/** The first page: health, what waits for somebody, and the last 30 days. */
export const homeRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/', { schema: { querystring: OverviewQuery } }, async (request, reply) => {
    const { test } = request.query
    const overviews = await readOverviews(visitOf(request).calls, test)
    return sendPage(request, reply, overviewPage({ overviews, now: app.deps.now(), isTest: test === 'true' }))
  })
}

/** Where each service tells its numbers. */
const PATH = '/operator/overview'

async function readOverviews(calls: OperatorCalls, test: string): Promise<Overviews> {
  const [auth, payments, inventory] = await Promise.all([
    see(calls, 'auth', () => calls.read('auth', PATH, AuthOverview)),
    see(calls, 'payments', () => readWithDecimals(calls, { path: PATH, schema: PaymentsOverview, query: { test } })),
    see(calls, 'inventory', () => calls.read('inventory', PATH, InventoryOverview)),
  ])
  return { auth, payments, inventory }
}

/** Errors of a service that take only its own part off the page. */
const ABSENT: Readonly<Record<string, 'away' | 'missing'>> = {
  service_away: 'away',
  object_not_found: 'missing',
}

/** What a service tells. Undefined: the service is not set up. */
async function see<T>(
  calls: OperatorCalls,
  service: ServiceName,
  read: () => Promise<Listed<T>>,
): Promise<Seen<T> | undefined> {
  if (!calls.has(service)) return undefined
  try {
    return { kind: 'seen', value: (await read()).value }
  } catch (error) {
    const kind = error instanceof HttpError ? ABSENT[error.code] : undefined
    if (kind === undefined) throw error
    return { kind }
  }
}
