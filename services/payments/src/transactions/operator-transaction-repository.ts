import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare, prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { readMeantAmounts } from '../money/minor-units.ts'
import { type ListOfAll, type ListOfAllInput, listOfAll } from '../pagination/list-of-all.ts'
import { PIECE } from '../pagination/pieces.ts'
import type { Transaction } from './transaction.ts'
import { type TransactionColumns, toTransaction, trailUntil, transactionColumns } from './transaction-columns.ts'

/** A transaction in a page of operators, before it is read. */
export interface FoundTransaction {
  readonly id: string
  readonly merchantId: string
  /** The number of entries of its trail. */
  readonly trailLength: number
}

/** The filters of an operator's list of transactions of all merchants. */
export interface TransactionSearch extends Omit<ListOfAllInput, 'filters'> {
  readonly merchantId: string | undefined
  /** An id, the last four digits of a card, an amount (console reference: Search by amount) or a reference, each whole. */
  readonly search: string | undefined
}

type SearchColumn = 'id' | 'last4' | 'amount' | 'currencies' | 'reference'

/** A list by columns, or by none. */
function listBy(name: string, ...columns: readonly SearchColumn[]): ListOfAll<FoundTransaction> {
  return listOfAll<FoundTransaction>(name, {
    table: 'transactions',
    columns: sql`r.id, r.merchant_id AS "merchantId", r.trail_length AS "trailLength"`,
    filters: ['merchant_id', ...columns],
    comparisons: { currencies: (codes) => sql`r.currency = ANY (string_to_array(${codes}, ','))` },
    flags: { test: sql`r.test`, successful: sql`r.successful` },
  })
}

const listAll = listBy('all_transactions')

/** The possible meanings of a text, and the list that has its rows. An index serves each. */
const SEARCHES = [
  { column: 'id', form: /^[0-9a-f]{24}$/i, list: listBy('found_by_id', 'id') },
  { column: 'last4', form: /^\d{4}$/, list: listBy('found_by_last4', 'last4') },
  { column: 'amount', form: /^\d{1,15}$/, list: listBy('found_by_amount', 'amount') },
  { column: 'reference', form: /./, list: listBy('found_by_reference', 'reference') },
] as const

/** Amounts in major units, in the currencies with so many decimals. The index of amounts serves it. */
const listByMoney = listBy('found_by_money', 'amount', 'currencies')

/**
 * The transactions of a page of operators. A text that may be several things, such as `1000`, finds what each of them finds. One
 * condition for all would have the database read and sort every transaction that it fits.
 */
export async function findTransactionsOfAll(
  lanes: Lanes,
  { search, merchantId, ...page }: TransactionSearch,
): Promise<readonly FoundTransaction[]> {
  const filters = { merchant_id: merchantId }
  if (search === undefined) return listAll(lanes, { ...page, filters })
  const pages = await Promise.all([
    ...SEARCHES.filter(({ form }) => form.test(search)).map(({ list, column }) =>
      list(lanes, { ...page, filters: { ...filters, [column]: column === 'id' ? search.toLowerCase() : search } }),
    ),
    ...readMeantAmounts(search).map(({ amount, currencies }) => {
      const money = { amount: amount.toString(), currencies: currencies.join(',') }
      return listByMoney(lanes, { ...page, filters: { ...filters, ...money } })
    }),
  ])
  const found = [...new Map(pages.flat().map((row) => [row.id, row])).values()]
  const newestFirst = found.toSorted((one, other) => (one.id < other.id ? 1 : -1))
  return (page.order === 'newest-first' ? newestFirst : newestFirst.toReversed()).slice(0, page.limit)
}

/** Counts how many of the first transactions one statement should read with their trails: at least one. */
export function countReadAtOnce(found: readonly FoundTransaction[]): number {
  let entries = 0
  const end = found.findIndex(({ trailLength }, index) => {
    entries += trailLength
    return index > 0 && entries > PIECE.entries
  })
  return end === -1 ? found.length : end
}

interface KeyColumns {
  readonly merchantIds: readonly string[]
  readonly ids: readonly string[]
  /** The number of entries of each trail that are read. */
  readonly entriesMax: number
}

const keyedQuery = prepareOnCoordinator(
  'transactions_by_key',
  (p: KeyColumns) => sql<TransactionColumns>`
    SELECT ${transactionColumns({ transaction: 'r', amounts: 'r', instrument: 'n' })}
    FROM ${sql.table('transactions')} r
    JOIN ${sql.table('instruments')} n ON n.merchant_id = r.merchant_id AND n.id = r.instrument_id
    LEFT JOIN LATERAL (${trailUntil(sql`r.merchant_id`, {
      transactionId: sql`r.id`,
      length: sql`least(r.trail_length, ${p.entriesMax}::int)`,
    })}) e ON true
    WHERE (r.merchant_id, r.id) IN (SELECT * FROM unnest(${p.merchantIds}::text[], ${p.ids}::text[]))`,
)

/** Transactions of all merchants, in the order of what was found, with their trails. */
export function listFoundTransactions(lanes: Lanes, found: readonly FoundTransaction[]): Promise<Transaction[]> {
  return readFound(lanes, found, Math.max(0, ...found.map(({ trailLength }) => trailLength)))
}

/** The same without trails, for lists that do not show them. */
export function listFoundFigures(lanes: Lanes, found: readonly FoundTransaction[]): Promise<Transaction[]> {
  return readFound(lanes, found, 0)
}

async function readFound({ read }: Lanes, found: readonly FoundTransaction[], entriesMax: number) {
  const input = { merchantIds: found.map(({ merchantId }) => merchantId), ids: found.map(({ id }) => id), entriesMax }
  const rows = found.length === 0 ? [] : await read.all(keyedQuery, input)
  const byId = new Map(rows.map((row) => [row.id, row]))
  return found.flatMap(({ id }) => {
    const row = byId.get(id)
    return row ? [toTransaction(row)] : []
  })
}

/** A transaction as an operator sees it alone. */
export interface OperatedTransaction {
  readonly transaction: Transaction
  readonly merchantName: string | null
  /** The name of the acquirer that authorized it. Null: the simulator. */
  readonly acquirer: string | null
  /** The acquirer's own name for it. */
  readonly acquirerRef: string | null
}

type OperatedColumns = TransactionColumns & {
  merchant_name: string | null
  acquirer: string | null
  acquirer_ref: string | null
}

const operatedQuery = prepare(
  'operated_transaction',
  (p: { merchantId: string; id: string }) => sql<OperatedColumns>`
    SELECT ${transactionColumns({ transaction: 'r', amounts: 'r', instrument: 'n' })}, m.name AS merchant_name, r.acquirer,
      r.acquirer_ref
    FROM ${sql.table('transactions')} r
    JOIN ${sql.table('merchants')} m ON m.id = r.merchant_id
    JOIN ${sql.table('instruments')} n ON n.merchant_id = ${p.merchantId} AND n.id = r.instrument_id
    LEFT JOIN LATERAL (${trailUntil(sql`${p.merchantId}`, {
      transactionId: sql`r.id`,
      length: sql`r.trail_length`,
    })}) e ON true
    WHERE r.merchant_id = ${p.merchantId} AND r.id = ${p.id}`,
)

/** A transaction of a merchant, for an operator. @throws Error when the merchant has no such transaction */
export async function getOperatedTransaction(
  { read }: Lanes,
  input: { readonly merchantId: string; readonly id: string },
): Promise<OperatedTransaction> {
  const {
    merchant_name: merchantName,
    acquirer,
    acquirer_ref: acquirerRef,
    ...row
  } = await read.one(operatedQuery, input)
  return { transaction: toTransaction(row), merchantName, acquirer, acquirerRef }
}

/** A journal of the ledger with its entries. Amounts are minor units; credit is positive. */
export interface TransactionJournal {
  readonly id: string
  readonly created: Date
  readonly kind: string
  readonly entries: readonly { readonly account: string; readonly currency: string; readonly amount: number }[]
}

/** The most journals that are shown of a transaction. */
const JOURNALS_MAX = 100

const journalsQuery = prepare(
  'journals_of_transaction',
  (p: { merchantId: string; id: string }) => sql<TransactionJournal>`
    SELECT j.id, j.created, j.kind, (
      SELECT json_agg(json_build_object('account', e.account, 'currency', e.currency, 'amount', e.amount) ORDER BY e.seq)
      FROM ${sql.table('entries')} e WHERE e.merchant_id = ${p.merchantId} AND e.journal_id = j.id
    ) AS entries
    FROM ${sql.table('trail_entries')} t
    JOIN ${sql.table('journals')} j ON j.merchant_id = ${p.merchantId}
      AND j.kind = CASE t.kind WHEN 'disputeLost' THEN 'dispute' ELSE t.kind END AND j.cause_id = t.id
    WHERE t.merchant_id = ${p.merchantId} AND t.transaction_id = ${p.id}
    ORDER BY t.seq DESC LIMIT ${sql.lit(JOURNALS_MAX)}`,
)

/** The journals of what happened to a transaction, newest first, at most a hundred. */
export function listJournals(
  { read }: Lanes,
  input: { readonly merchantId: string; readonly id: string },
): Promise<readonly TransactionJournal[]> {
  return read.all(journalsQuery, input)
}
