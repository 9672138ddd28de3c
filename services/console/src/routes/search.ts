import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { money } from '../pages/money.ts'
import { type Found, type Hit, PaymentsHits, ProductHits, searchPage } from '../pages/search-page.ts'
import { visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { INVENTORY, type OperatorCalls } from '../service-calls/operator-calls.ts'
import type { ServiceName } from '../service-calls/service-call.ts'
import {
  cardText,
  listTransactions,
  stateBadges,
  TRANSACTIONS_PATH,
  transactionPath,
} from '../transactions/transaction-view.ts'
import { nameOf, USERS_PATH, UsersView, userBadges } from '../users/user-view.ts'

const SearchQuery = z.object({ q: z.string().trim().max(255).default('') })

const PAYMENTS_MAX = 20

/** Objects that a search found, newest first. */
interface Results {
  readonly hits: readonly Hit[]
  /** The list with more results, or `undefined` if there are no more. */
  readonly moreIn?: string | undefined
}

/** How a service is searched, and the title of its results. */
interface Search {
  readonly service: ServiceName
  readonly label: string
  readonly read: (calls: OperatorCalls, text: string, now: Date) => Promise<Results>
}

const SEARCHES: readonly Search[] = [
  { service: 'auth', label: 'Users', read: findUsers },
  { service: 'payments', label: 'Payments', read: findPayments },
  { service: 'inventory', label: 'Products', read: findProducts },
]

/** Searches all services in parallel. If one is unavailable, the results of the others are still shown. */
export const searchRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/search', { schema: { querystring: SearchQuery } }, async (request, reply) => {
    const { q: text } = request.query
    const { calls } = visitOf(request)
    const searches = text === '' ? [] : SEARCHES.filter(({ service }) => calls.has(service))
    const now = app.deps.now()
    const found = await Promise.all(searches.map((each) => find(each, () => each.read(calls, text, now), text)))
    return sendPage(request, reply, searchPage(text, found))
  })
}

async function find({ service, label }: Search, read: () => Promise<Results>, text: string): Promise<Found> {
  try {
    const { hits, moreIn } = await read()
    return { service, label, hits, allAt: moreIn && `${moreIn}?${new URLSearchParams({ search: text })}` }
  } catch (error) {
    if (!(error instanceof HttpError) || error.code === 'not_signed_in') throw error
    // A service rejects some texts, for example very long ones.
    if (error.code === 'service_refused') return { service, label, hits: [] }
    const problem = error.code === 'service_away' ? undefined : error.message
    return { service, label, hits: undefined, problem }
  }
}

async function findUsers(calls: OperatorCalls, search: string, now: Date): Promise<Results> {
  const { value, next } = await calls.read('auth', '/operator/users', UsersView, { search, limit: 10 })
  const hits = value.users.map((user) => ({
    kind: 'user',
    id: user.id,
    title: nameOf(user),
    path: `${USERS_PATH}/${user.id}`,
    icon: 'users' as const,
    badges: userBadges(user, now),
    created: user.created_at,
  }))
  return { hits, moreIn: next && USERS_PATH }
}

/** Reads transactions from their list, which has their states, and other objects from the search of payments. */
async function findPayments(calls: OperatorCalls, text: string): Promise<Results> {
  const [others, { value, next }] = await Promise.all([
    calls.read('payments', '/operator/search', PaymentsHits, { q: text }),
    listTransactions(calls, { search: text, limit: PAYMENTS_MAX }),
  ])
  const shown = value.transactions.slice(0, PAYMENTS_MAX)
  const transactions = shown.map((transaction) => ({
    kind: 'transaction',
    id: transaction.id,
    title: `${money(transaction.amount, transaction.currency, value.decimals)} ${cardText(transaction)}`,
    path: transactionPath(transaction.id),
    icon: 'transactions' as const,
    badges: stateBadges(transaction),
    created: transaction.created,
  }))
  const hasMore = next !== undefined || shown.length < value.transactions.length
  return { hits: [...others.value, ...transactions], moreIn: hasMore ? TRANSACTIONS_PATH : undefined }
}

/** Inventory finds a SKU by its beginning, in any case, and a product by words (inventory reference: Lists). */
async function findProducts(calls: OperatorCalls, text: string): Promise<Results> {
  const query = { q: text, attributes: 'short', limit: 10 }
  const { value: hits, next } = await calls.read('inventory', INVENTORY.products, ProductHits, query)
  return { hits, moreIn: next && INVENTORY.products }
}
