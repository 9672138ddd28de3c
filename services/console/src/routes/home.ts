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
import { visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import type { OperatorCalls } from '../service-calls/operator-calls.ts'
import type { Query, ServiceName } from '../service-calls/service-call.ts'

const OverviewQuery = z.object({ test: z.enum(['true', 'false']).prefault('false') })

/** The first page: health, what waits for somebody, and the last 30 days. */
export const homeRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/', { schema: { querystring: OverviewQuery } }, async (request, reply) => {
    const { test } = request.query
    const overviews = await readOverviews(visitOf(request).calls, test)
    return sendPage(request, reply, overviewPage({ overviews, now: app.deps.now(), isTest: test === 'true' }))
  })
}

async function readOverviews(calls: OperatorCalls, test: string): Promise<Overviews> {
  const see = <T>(service: ServiceName, schema: z.ZodType<T>, query?: Query) =>
    calls.has(service) ? readOverview(calls, { service, schema, query }) : undefined
  const [auth, payments, inventory] = await Promise.all([
    see('auth', AuthOverview),
    see('payments', PaymentsOverview, { test }),
    see('inventory', InventoryOverview),
  ])
  return { auth, payments, inventory }
}

/** Errors of a service that take only its own part off the page. */
const ABSENT: Readonly<Record<string, 'silent' | 'missing'>> = {
  service_silent: 'silent',
  object_not_found: 'missing',
}

async function readOverview<T>(
  calls: OperatorCalls,
  {
    service,
    schema,
    query,
  }: { readonly service: ServiceName; readonly schema: z.ZodType<T>; readonly query: Query | undefined },
): Promise<Seen<T>> {
  try {
    return { kind: 'seen', value: (await calls.read(service, '/operator/overview', schema, query)).value }
  } catch (error) {
    const kind = error instanceof HttpError ? ABSENT[error.code] : undefined
    if (kind === undefined) throw error
    return { kind }
  }
}
