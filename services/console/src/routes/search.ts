import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { type Found, type Hit, PaymentsHits, ProductHits, searchPage, UserHits } from '../pages/search-page.ts'
import { visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { INVENTORY } from '../service-calls/inventory-answer.ts'
import type { OperatorCalls } from '../service-calls/operator-calls.ts'
import type { Query, ServiceName } from '../service-calls/service-call.ts'

const SearchQuery = z.object({ q: z.string().trim().max(255).default('') })

/** Where each service looks, and what its part of the page is called. */
interface Search {
  readonly service: ServiceName
  readonly label: string
  readonly path: string
  readonly query: (text: string) => Query
  readonly hits: z.ZodType<readonly Hit[]>
}

const SEARCHES: readonly Search[] = [
  {
    service: 'auth',
    label: 'Users',
    path: '/operator/users',
    query: (search) => ({ search, limit: 10 }),
    hits: UserHits,
  },
  {
    service: 'payments',
    label: 'Payments',
    path: '/operator/search',
    query: (text) => ({ q: text }),
    hits: PaymentsHits,
  },
  {
    service: 'inventory',
    label: 'Products',
    path: INVENTORY.products,
    query: (text) => ({ 'sku[prefix]': text, attributes: 'short', limit: 10 }),
    hits: ProductHits,
  },
]

/** Searches all services at once. One that is away takes nothing from the others. */
export const searchRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/search', { schema: { querystring: SearchQuery } }, async (request, reply) => {
    const { q: text } = request.query
    const { calls } = visitOf(request)
    const searches = text === '' ? [] : SEARCHES.filter(({ service }) => calls.has(service))
    return sendPage(
      request,
      reply,
      searchPage(text, await Promise.all(searches.map((each) => find(calls, each, text)))),
    )
  })
}

async function find(calls: OperatorCalls, search: Search, text: string): Promise<Found> {
  const { service, label, path, query, hits } = search
  try {
    return { service, label, hits: (await calls.read(service, path, hits, query(text))).value }
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    // A text may be none that a service can look for, such as a SKU with a space.
    if (error.code === 'service_refused') return { service, label, hits: [] }
    if (error.code === 'service_away') return { service, label, hits: undefined }
    throw error
  }
}
