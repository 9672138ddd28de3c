import type { Pools } from '@trestle/database/pools.ts'
import { appsForOperator } from '../apps/app-repository.ts'
import { listAllDisputes } from '../disputes/dispute-repository.ts'
import { findNewestMerchants } from '../merchants/operator-merchant-repository.ts'
import { formatMoney } from '../money/minor-units.ts'
import { HIGHEST, ID_FORM, LOWEST } from '../pagination/page-query.ts'
import { listPayoutsOfAll } from '../payouts/payout-repository.ts'
import { findTransactionsOfAll, listFoundFigures } from '../transactions/operator-transaction-repository.ts'

/** An object that a search finds. */
export interface SearchHit {
  readonly kind: 'merchant' | 'transaction' | 'dispute' | 'payout' | 'app'
  readonly id: string
  /** Absent if the object is a merchant or an app. */
  readonly merchantId?: string
  /** A description for the operator. */
  readonly title: string
}

const HITS_MAX = 20

/**
 * Returns at most 20 merchants, transactions, disputes, payouts and apps that match a text, sorted by kind in this order (console
 * reference: Routes of payments). If many merchants or apps match, the newest of those that the indexes find first are returned.
 * Disputes and payouts are found only by their ids.
 */
export async function searchEverything(
  { operatorPools }: { readonly operatorPools: Pools },
  search: string,
): Promise<readonly SearchHit[]> {
  const page = { limit: HITS_MAX, above: LOWEST, below: HIGHEST, order: 'newest-first' } as const
  const byId = { ...page, filters: { id: search.toLowerCase() } }
  const isId = ID_FORM.test(search)
  const [merchants, found, disputes, payouts, apps] = await Promise.all([
    findNewestMerchants(operatorPools, { ...page, search, test: undefined }),
    findTransactionsOfAll(operatorPools, { ...page, search, merchantId: undefined }),
    isId ? listAllDisputes(operatorPools, byId) : [],
    isId ? listPayoutsOfAll(operatorPools, byId) : [],
    appsForOperator.newest(operatorPools, { ...page, search }),
  ])
  const transactions = await listFoundFigures(operatorPools, found)
  return [
    ...merchants.map(
      ({ merchant: { id, name, website } }) => ({ kind: 'merchant', id, title: name ?? website }) as const,
    ),
    ...transactions.map(({ id, merchantId, currency, amount, card }) => {
      const title = `${formatMoney(currency, amount)} •••• ${card.last4}`
      return { kind: 'transaction', id, merchantId, title } as const
    }),
    ...disputes.map(({ id, merchantId, currency, amount, reason }) => {
      const title = `${formatMoney(currency, amount)} ${reason.title}`
      return { kind: 'dispute', id, merchantId, title } as const
    }),
    ...payouts.map(({ id, merchantId, currency, amount, status }) => {
      const title = `${formatMoney(currency, amount)} ${status}`
      return { kind: 'payout', id, merchantId, title } as const
    }),
    ...apps.map(({ id, name, keys }) => ({ kind: 'app', id, title: name ?? `…${keys[0]?.hint ?? ''}` }) as const),
  ].slice(0, HITS_MAX)
}
