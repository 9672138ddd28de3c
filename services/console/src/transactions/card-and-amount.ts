import type { z } from 'zod'
import { readMoney, readWithDecimals, type WithDecimals } from '../pages/money.ts'
import type { Listed, OperatorCalls } from '../service-calls/operator-calls.ts'
import type { Query } from '../service-calls/service-call.ts'
import { type Transaction, TransactionsView } from './transaction-view.ts'

/** The last four digits of a card with an amount, as somebody reads both from a statement. */
export interface CardAndAmount {
  readonly last4: string
  /** Whether a transaction is of this amount, and of its currency where one was named. */
  readonly isOf: (transaction: Pick<Transaction, 'amount' | 'currency'>, decimals: Listings['decimals']) => boolean
}

type Listings = WithDecimals<z.infer<typeof TransactionsView>>

const LIST = '/operator/transactions'
/** Payments gives at most so many rows of a list at once. */
const ROWS_MAX = 100
/** How many pages of a card are read for one page of the console. */
const PAGES_MAX = 10

/**
 * Reads the last four digits of a card and an amount, in either order: `4242 49.99`, `EUR 1,234.50 4242`. A
 * whole number is an amount in units or in minor units. Undefined for all else.
 */
export function readCardAndAmount(text: string): CardAndAmount | undefined {
  const digitsFirst = /^(?<last4>\d{4})\s+(?<rest>.+)$/.exec(text)
  const digitsLast = /^(?<rest>.+)\s+(?<last4>\d{4})$/.exec(text)
  for (const { groups: { last4 = '', rest = '' } = {} } of [digitsFirst, digitsLast].filter((each) => each !== null)) {
    const [, code, amount] = /^(?:([a-z]{3})\s*|€\s*)?(\d[\d.,]*)$/i.exec(rest) ?? []
    const named = code?.toUpperCase() ?? (rest.startsWith('€') ? 'EUR' : undefined)
    if (amount !== undefined) return { last4, isOf: amountTest(amount, named) }
  }
  return undefined
}

function amountTest(text: string, named: string | undefined): CardAndAmount['isOf'] {
  // Commas between thousands, as the console shows amounts: before three digits and a point.
  const plain = /^\d{1,3}(,\d{3})+\.\d+$/.test(text) ? text.replaceAll(',', '') : text
  return ({ amount, currency }, decimals) => {
    if (named !== undefined && named !== currency) return false
    return readMoney(plain, currency, decimals) === amount || (named === undefined && String(amount) === plain)
  }
}

/**
 * Lists transactions that match a query, or, where none matches the whole search, those with the card and the
 * amount that the search names. Payments looks for one of the two at a time, so those of the card are read
 * and the others left out: a page may have none, and yet a next one.
 * @throws as `OperatorCalls.read` does
 */
export async function listTransactions(
  calls: Pick<OperatorCalls, 'read'>,
  query: Query & { readonly search?: string | undefined },
): Promise<Listed<Listings>> {
  const whole = await readPage(calls, query)
  const sought = readCardAndAmount(query.search ?? '')
  if (sought === undefined || whole.value.transactions.length > 0) return whole
  const found: Transaction[] = []
  let next: string | undefined
  for (let page = 0; page < PAGES_MAX; page++) {
    const cursor = next ?? query.cursor
    const listed = await readPage(calls, { ...query, search: sought.last4, limit: ROWS_MAX, cursor })
    const { transactions, decimals } = listed.value
    found.push(...transactions.filter((each) => each.card.last4 === sought.last4 && sought.isOf(each, decimals)))
    next = listed.next
    if (next === undefined || found.length >= Number(query.limit)) break
  }
  return { ...whole, value: { ...whole.value, transactions: found }, next }
}

function readPage(calls: Pick<OperatorCalls, 'read'>, query: Query): Promise<Listed<Listings>> {
  return readWithDecimals(calls, { path: LIST, schema: TransactionsView, query })
}
