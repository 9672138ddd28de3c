import type { Html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { Amount, readMoney, readWithDecimals, type WithDecimals } from '../pages/money.ts'
import { badge, type Tone } from '../pages/parts.ts'
import type { Listed, OperatorCalls } from '../service-calls/operator-calls.ts'
import type { Query } from '../service-calls/service-call.ts'
import type { Reasons } from './dispute-view.ts'

const TrailEntry = z.looseObject({
  id: z.string(),
  created: z.string(),
  amount: Amount,
  balance: Amount,
  reference: z.string().optional(),
  capture: z.literal(true).optional(),
  refund: z.literal(true).optional(),
  void: z.literal(true).optional(),
  dispute: z.looseObject({ id: z.string(), won: z.boolean().optional(), lost: z.boolean().optional() }).optional(),
})
/** A capture, a refund, a void, or a decided dispute. */
export type TrailEntry = z.infer<typeof TrailEntry>

const ProcessingError = z.looseObject({ code: z.int(), message: z.string() })

/** A transaction in the form of payments (payments reference: Transaction object). */
const Transaction = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  test: z.boolean(),
  created: z.string(),
  currency: z.string(),
  amount: Amount,
  descriptor: z.string(),
  reference: z.string().optional(),
  pendingAmount: Amount,
  capturedAmount: Amount,
  refundedAmount: Amount,
  voidedAmount: Amount,
  disputedAmount: Amount,
  card: z.looseObject({
    bin: z.string(),
    last4: z.string(),
    expiry: z.string(),
    scheme: z.string().optional(),
    code: z.object({ present: z.boolean() }),
  }),
  custom: z.unknown().optional(),
  recurring: z.boolean(),
  successful: z.boolean(),
  error: z.union([z.literal(false), ProcessingError]),
  trail: z.array(TrailEntry),
})
export type Transaction = z.infer<typeof Transaction>

export const TransactionsView = z.object({ transactions: z.array(Transaction) })

const Dispute = z.looseObject({
  id: z.string(),
  status: z.enum(['open', 'won', 'lost']),
  amount: Amount,
  currency: z.string(),
  reason: z.object({ code: z.int(), title: z.string() }),
  due: z.string(),
})

/** A transaction with its history (console reference: Transaction of operators). */
export const TransactionView = z.object({
  transaction: Transaction,
  merchant: z.object({ id: z.string(), name: z.string().optional() }),
  acquirer: z.string().optional(),
  acquirerRef: z.string().optional(),
  threeDS: z.looseObject({ outcome: z.string() }).nullable(),
  journals: z.array(
    z.object({
      id: z.string(),
      created: z.string(),
      kind: z.string(),
      entries: z.array(z.object({ account: z.string(), currency: z.string(), amount: Amount })),
    }),
  ),
  events: z.array(z.looseObject({ id: z.string(), type: z.string(), created: z.string() })),
  disputes: z.array(Dispute),
  frauds: z.array(z.looseObject({ id: z.string(), created: z.string(), reason: z.int().optional() })),
  limits: z.object({
    capture: Amount,
    refund: Amount,
    void: Amount,
    dispute: Amount,
    refundLimit: Amount.optional(),
    refundAllowance: Amount.optional(),
  }),
})
/** A transaction with its history, the decimals of its currencies, and the titles of dispute reasons. */
export type ShownTransaction = WithDecimals<z.infer<typeof TransactionView>> & { readonly reasons: Reasons }

/** The state of a transaction in one or two words, such as `Partly refunded`, and its badge tone. A dispute hides refunds. */
export function stateOf({
  successful,
  amount,
  pendingAmount: pending,
  capturedAmount: captured,
  refundedAmount: refunded,
  voidedAmount: voided,
  disputedAmount: disputed,
}: Transaction): { readonly text: string; readonly tone: Tone } {
  if (!successful) return { text: 'Refused', tone: 'bad' }
  if (disputed > 0) return { text: 'Disputed', tone: 'warn' }
  if (amount === 0) return { text: 'Verified', tone: 'plain' }
  if (refunded > 0) return { text: refunded < captured ? 'Partly refunded' : 'Refunded', tone: 'plain' }
  if (captured > 0) return { text: captured < amount ? 'Partly captured' : 'Captured', tone: 'good' }
  return voided > 0 && pending === 0 ? { text: 'Voided', tone: 'plain' } : { text: 'Authorized', tone: 'info' }
}

export const TRANSACTIONS_PATH = '/transactions'

export function transactionPath(id: string): string {
  return `${TRANSACTIONS_PATH}/${encodeURIComponent(id)}`
}

/** The card as `Visa •••• 4242`, with a no-break space before the digits. Payments writes schemes in lower case. */
export function cardText({ card: { scheme = '', last4 } }: Pick<Transaction, 'card'>): string {
  return `${scheme.slice(0, 1).toUpperCase()}${scheme.slice(1)} ••••\u00A0${last4}`.trim()
}

/** The last four digits of a card and an amount, which an operator reads from a statement. */
interface CardAndAmount {
  readonly last4: string
  /** Whether a transaction has this amount and, if given, this currency. */
  readonly isOf: (transaction: Pick<Transaction, 'amount' | 'currency'>, decimals: Listings['decimals']) => boolean
}

type Listings = WithDecimals<z.infer<typeof TransactionsView>>

const LIST = '/operator/transactions'
/** The largest page that payments returns. */
const ROWS_MAX = 100
/** The most pages of a card that are read for one page of the console. */
const PAGES_MAX = 10

/**
 * Parses the last four digits of a card and an amount, in either order: `4242 49.99`, `EUR 1,234.50 4242`. A whole number means
 * units or minor units. Returns `undefined` for any other text.
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
  // Remove the thousands commas that the console writes, such as in 1,234.50.
  const plain = /^\d{1,3}(,\d{3})+\.\d+$/.test(text) ? text.replaceAll(',', '') : text
  return ({ amount, currency }, decimals) => {
    if (named !== undefined && named !== currency) return false
    return readMoney(plain, currency, decimals) === amount || (named === undefined && String(amount) === plain)
  }
}

/**
 * Lists transactions that match a query. If none matches the whole search, lists those with the card and the amount in the
 * search. Payments cannot search for both, so this function reads and filters the transactions of the card. A page may be empty
 * and still have a next page.
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

/** Badges for the state of a transaction, and for a test transaction. */
export function stateBadges(transaction: Transaction): readonly Html[] {
  const { text, tone } = stateOf(transaction)
  return [badge(text, tone), ...(transaction.test ? [badge('Test')] : [])]
}
