import type { Pools } from '@trestle/database/pools.ts'
import { prepare, prepareOnCoordinator } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { findMode } from '../merchants/operator-merchant-repository.ts'
import { type MeantAmount, readMeantAmounts } from '../money/minor-units.ts'
import { type ListOfAll, type ListOfAllInput, listOfAll, listOfAny, VALUES_MAX } from '../pagination/list-of-all.ts'
import { CHUNK, ID_FORM } from '../pagination/page-query.ts'
import type { Transaction } from './transaction.ts'
import {
  briefTransactionColumns,
  type TransactionColumns,
  toTransaction,
  trailUntil,
  transactionColumns,
} from './transaction-columns.ts'

/** A transaction in a page for operators, before its columns are read. */
interface FoundTransaction {
  readonly id: string
  readonly merchantId: string
  /** The number of entries of the transaction's trail. */
  readonly trailLength: number
}

/** The filters of an operator's list of transactions of all merchants. */
export interface TransactionSearch extends Omit<ListOfAllInput, 'filters' | 'flags'> {
  readonly flags?: { readonly test?: boolean | undefined; readonly successful?: boolean | undefined }
  readonly merchantId: string | undefined
  /** A whole id, last four card digits, amount (console reference: Search by amount) or reference. */
  readonly search: string | undefined
}

type SearchColumn = 'id' | 'last4' | 'amount' | 'reference'

/** Returns the source of a list that is filtered by the given columns. */
function sourceBy(...columns: readonly SearchColumn[]) {
  return {
    table: 'transactions',
    columns: sql`r.id, r.merchant_id AS "merchantId", r.trail_length AS "trailLength"`,
    filters: ['merchant_id', ...columns],
    flags: { test: sql`r.test`, successful: sql`r.successful` },
  } as const
}

function listBy(name: string, ...columns: readonly SearchColumn[]): ListOfAll<FoundTransaction> {
  return listOfAll<FoundTransaction>(name, sourceBy(...columns))
}

const listAll = listBy('all_transactions')

/** The possible meanings of a search text, each with the list that finds it. An index supports each list. */
const SEARCHES = [
  { column: 'id', form: ID_FORM, list: listBy('found_by_id', 'id') },
  { column: 'last4', form: /^\d{4}$/, list: listBy('found_by_last4', 'last4') },
  { column: 'reference', form: /./, list: listBy('found_by_reference', 'reference') },
] as const

/**
 * Returns a page of transactions for operators. A text with several possible meanings, such as `1000`, returns the results of all
 * of them. Each meaning has its own query. With one query for all, PostgreSQL would read and sort every matching transaction.
 */
export async function findTransactionsOfAll(
  pools: Pools,
  { search, merchantId, flags = {}, ...place }: TransactionSearch,
): Promise<readonly FoundTransaction[]> {
  const test = await leaveOpen(pools, { merchantId, test: flags.test })
  if (test === 'contradiction') return []
  const page = { ...place, flags: { ...flags, test } }
  const filters = { merchant_id: merchantId }
  if (search === undefined) return listAll(pools, { ...page, filters })
  const pages = await Promise.all([
    ...SEARCHES.filter(({ form }) => form.test(search)).map(({ list, column }) =>
      list(pools, { ...page, filters: { ...filters, [column]: column === 'id' ? search.toLowerCase() : search } }),
    ),
    ...readMeantAmounts(search).map((meant) => listByAmount(pools, { ...page, filters }, meant)),
  ])
  return mergePages(page, pages.flat())
}

/**
 * Returns the mode by which the search must still filter. A merchant has only one mode, so for a merchant the filter matches all
 * rows or none. A search for the other mode would scan all rows of the merchant and find none.
 */
async function leaveOpen(
  pools: Pools,
  { merchantId, test }: { readonly merchantId: string | undefined; readonly test: boolean | undefined },
): Promise<boolean | undefined | 'contradiction'> {
  if (merchantId === undefined || test === undefined) return test
  return (await findMode(pools, merchantId)) === (test ? 'test' : 'live') ? undefined : 'contradiction'
}

const listByMoney = listOfAny<FoundTransaction>('found_by_money', 'currency', sourceBy('amount'))

/**
 * Returns the transactions of an amount in any of the currencies. Customers may pay one amount in many currencies, so each
 * statement reads up to `VALUES_MAX` currencies. Each further statement reads only rows that can still belong to the page.
 */
async function listByAmount(
  pools: Pools,
  page: ListOfAllInput,
  { amount, currencies }: MeantAmount,
): Promise<readonly FoundTransaction[]> {
  const existing = currencies.length === 1 ? currencies : await listCurrenciesOf(pools, amount)
  const asked = existing.filter((each) => currencies.includes(each))
  const filters = { ...page.filters, amount: amount.toString() }
  let found: readonly FoundTransaction[] = []
  for (let first = 0; first < asked.length; first += VALUES_MAX) {
    const values = asked.slice(first, first + VALUES_MAX)
    const more = await listByMoney(pools, { ...page, ...endOf(page, found), filters, values })
    found = mergePages(page, [...found, ...more])
  }
  return found
}

const currenciesQuery = prepareOnCoordinator(
  'currencies_of_amount',
  (p: { amount: string }) => sql<{ currencies: readonly string[] }>`
    SELECT ${sql.table('currencies_of_amount')}(${p.amount}) AS currencies`,
)

async function listCurrenciesOf({ read }: Pools, amount: bigint): Promise<readonly string[]> {
  const { currencies } = await read.one(currenciesQuery, { amount: amount.toString() })
  return currencies
}

type Page = Pick<ListOfAllInput, 'order' | 'limit'>

/** Returns the bound of rows that can still belong to a full page. */
function endOf({ order, limit }: Page, found: readonly FoundTransaction[]): { above?: string; below?: string } {
  const last = found[limit - 1]
  if (last === undefined) return {}
  return order === 'newest-first' ? { above: last.id } : { below: last.id }
}

/** Merges the rows of several pages into one page and removes duplicates. */
function mergePages({ order, limit }: Page, rows: readonly FoundTransaction[]): readonly FoundTransaction[] {
  const found = [...new Map(rows.map((row) => [row.id, row])).values()]
  const newestFirst = found.toSorted((one, other) => (one.id < other.id ? 1 : -1))
  return (order === 'newest-first' ? newestFirst : newestFirst.toReversed()).slice(0, limit)
}

/** Returns how many of the first transactions one statement should read with their trails, at least one. */
export function countReadAtOnce(found: readonly FoundTransaction[]): number {
  let entries = 0
  const end = found.findIndex(({ trailLength }, index) => {
    entries += trailLength
    return index > 0 && entries > CHUNK.entries
  })
  return end === -1 ? found.length : end
}

interface KeyColumns {
  readonly merchantIds: readonly string[]
  readonly ids: readonly string[]
  /** The number of entries of each trail to read. */
  readonly entriesMax: number
}

const keyedQuery = prepareOnCoordinator(
  'transactions_by_key',
  (p: KeyColumns) => sql<TransactionColumns>`
    SELECT ${briefTransactionColumns({ transaction: 'r', amounts: 'r', instrument: 'n' })}
    FROM ${sql.table('transactions')} r
    JOIN ${sql.table('instruments')} n ON n.merchant_id = r.merchant_id AND n.id = r.instrument_id
    LEFT JOIN LATERAL (${trailUntil(sql`r.merchant_id`, {
      transactionId: sql`r.id`,
      length: sql`least(r.trail_length, ${p.entriesMax}::int)`,
    })}) e ON true
    WHERE (r.merchant_id, r.id) IN (SELECT * FROM unnest(${p.merchantIds}::text[], ${p.ids}::text[]))`,
)

/** Returns transactions of all merchants with their trails, in the order of `found`. Omits `custom`, `plan` and `unplanned`. */
export function listFoundTransactions(pools: Pools, found: readonly FoundTransaction[]): Promise<Transaction[]> {
  return readFound(pools, found, Math.max(0, ...found.map(({ trailLength }) => trailLength)))
}

/** Returns the found transactions in their order, without trails, for lists that show no trails. */
export function listFoundFigures(pools: Pools, found: readonly FoundTransaction[]): Promise<Transaction[]> {
  return readFound(pools, found, 0)
}

async function readFound({ read }: Pools, found: readonly FoundTransaction[], entriesMax: number) {
  const input = { merchantIds: found.map(({ merchantId }) => merchantId), ids: found.map(({ id }) => id), entriesMax }
  const rows = found.length === 0 ? [] : await read.all(keyedQuery, input)
  const byId = new Map(rows.map((row) => [row.id, row]))
  return found.flatMap(({ id }) => {
    const row = byId.get(id)
    return row ? [toTransaction(row)] : []
  })
}

export interface TransactionForOperator {
  readonly transaction: Transaction
  readonly merchantName: string | null
  /** The name of the acquirer that authorized the transaction. `null` stands for the simulator. */
  readonly acquirer: string | null
  /** The acquirer's reference of the transaction. */
  readonly acquirerRef: string | null
}

type ColumnsForOperator = TransactionColumns & {
  merchant_name: string | null
  acquirer: string | null
  acquirer_ref: string | null
}

const forOperatorQuery = prepare(
  'transaction_for_operator',
  (p: { merchantId: string; id: string }) => sql<ColumnsForOperator>`
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

/** Returns a transaction of a merchant, for an operator. @throws Error if the merchant has no such transaction */
export async function getTransactionForOperator(
  { read }: Pools,
  input: { readonly merchantId: string; readonly id: string },
): Promise<TransactionForOperator> {
  const {
    merchant_name: merchantName,
    acquirer,
    acquirer_ref: acquirerRef,
    ...row
  } = await read.one(forOperatorQuery, input)
  return { transaction: toTransaction(row), merchantName, acquirer, acquirerRef }
}

/** A journal of the ledger with its entries. Amounts are in minor units. Credits are positive. */
export interface TransactionJournal {
  readonly id: string
  readonly created: Date
  readonly kind: string
  readonly entries: readonly { readonly account: string; readonly currency: string; readonly amount: number }[]
}

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

/** Returns the journals of a transaction, newest first, at most 100. */
export function listJournals(
  { read }: Pools,
  input: { readonly merchantId: string; readonly id: string },
): Promise<readonly TransactionJournal[]> {
  return read.all(journalsQuery, input)
}
