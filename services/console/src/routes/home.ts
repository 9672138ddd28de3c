import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  type Overviews,
  overviewPage,
  type PaymentsOverview,
  type Reported,
  ReportedByAuth,
  ReportedByInventory,
  ReportedByPayments,
  type Seen,
} from '../overview/overview-page.ts'
import { readWithDecimals, type WithDecimals } from '../pages/money.ts'
import { visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import type { OperatorCalls } from '../service-calls/operator-calls.ts'
import type { ServiceName } from '../service-calls/service-call.ts'

const OverviewQuery = z.object({ test: z.enum(['true', 'false']).prefault('false') })

export const homeRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/', { schema: { querystring: OverviewQuery } }, async (request, reply) => {
    const { test } = request.query
    const overviews = await readOverviews(visitOf(request).calls, test)
    return sendPage(
      request,
      reply,
      overviewPage({ overviews, now: app.deps.now(), mode: test === 'true' ? 'test' : 'live' }),
    )
  })
}

/** The path of the overview at each service. */
const PATH = '/operator/overview'

async function readOverviews(calls: OperatorCalls, test: string): Promise<Overviews> {
  const [auth, payments, inventory] = await Promise.all([
    see(calls, 'auth', async () => (await calls.read('auth', PATH, ReportedByAuth)).value),
    see(calls, 'payments', () => readPayments(calls, test)),
    see(calls, 'inventory', async () => (await calls.read('inventory', PATH, ReportedByInventory)).value),
  ])
  return { auth, payments, inventory }
}

async function readPayments(calls: OperatorCalls, test: string): Promise<Reported<WithDecimals<PaymentsOverview>>> {
  const asked = { path: PATH, schema: ReportedByPayments, query: { test } }
  const { decimals, ...reported } = (await readWithDecimals(calls, asked)).value
  return reported.kind === 'seen' ? { kind: 'seen', value: { ...reported.value, decimals } } : reported
}

/** Errors of a service for which the page has its own text. */
const ABSENT: Readonly<Record<string, 'unavailable' | 'missing'>> = {
  service_away: 'unavailable',
  object_not_found: 'missing',
}

/**
 * Returns `undefined` if the service is not set up. An error of one service affects only its part of the page, unless the session
 * has ended.
 */
async function see<T>(
  calls: OperatorCalls,
  service: ServiceName,
  read: () => Promise<Reported<T>>,
): Promise<Seen<T> | undefined> {
  if (!calls.has(service)) return undefined
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof HttpError) || error.code === 'not_signed_in') throw error
    const kind = ABSENT[error.code]
    return kind === undefined ? { kind: 'refused', message: error.message } : { kind }
  }
}
