import { type RawBuilder, sql } from 'kysely'
import type { TrailEntry, Transaction } from './transaction.ts'

/** The columns that queries select for a transaction. Amounts are in minor units of its currency. */
export interface TransactionColumns {
  id: string
  merchant_id: string
  test: boolean
  created: Date
  currency: string
  funding_currency: string
  amount: bigint
  descriptor: string
  reference: string | null
  pending: bigint
  captured: bigint
  refunded: bigint
  voided: bigint
  disputed: bigint
  bin: string
  last4: string
  expiry: string
  scheme: string | null
  code_present: boolean
  custom: unknown
  tds: 'attempt' | 'full' | null
  recurring: boolean
  error_code: number | null
  plan: unknown
  unplanned: unknown
  source_id: string | null
  trail: readonly TrailEntry[] | null
}

const FIXED = `id merchant_id test created currency funding_currency amount descriptor reference code_present tds recurring
  error_code source_id`
/** These columns contain JSON from clients, up to 50 kB each. */
const LONG = ['custom', 'plan', 'unplanned']
const AMOUNTS = 'pending captured refunded voided disputed'

/** The SQL expressions of the parts of a transaction in a query: aliases of rows, or expressions that return rows. */
export interface TransactionParts {
  readonly transaction: string
  /** The current amounts, or the amounts at an earlier time. */
  readonly amounts: string
  readonly instrument: string
}

/** Returns the columns of a transaction. The query must also provide a column `trail`. */
export function transactionColumns(parts: TransactionParts): RawBuilder<unknown> {
  return joinColumns([...briefColumns(parts), ...LONG.map((name) => `${parts.transaction}.${name}`)])
}

/** The columns for long lists. These show no `custom`, `plan` and `unplanned`, which are `NULL`. */
export function briefTransactionColumns(parts: TransactionParts): RawBuilder<unknown> {
  return joinColumns([...briefColumns(parts), ...LONG.map((name) => `NULL AS ${name}`)])
}

function briefColumns({ transaction, amounts, instrument }: TransactionParts): readonly string[] {
  const of = (row: string, names: string) => names.split(/\s+/).map((name) => `${row}.${name}`)
  const plain = [...of(transaction, FIXED), ...of(amounts, AMOUNTS), ...of(instrument, 'bin last4 scheme'), 'trail']
  return [...plain, `to_char(${instrument}.expiry, 'YYYY-MM-DD"T23:59:59.999Z"') AS expiry`]
}

function joinColumns(columns: readonly string[]): RawBuilder<unknown> {
  return sql.raw(columns.join(', '))
}

/** Selects the first `length` entries of the trail of a transaction. */
interface TrailPart {
  readonly transactionId: RawBuilder<unknown>
  readonly length: RawBuilder<unknown>
}

/**
 * Returns SQL for the first `length` entries of a transaction's trail. Amounts are JSON numbers, because they are below 2^53.
 * @see the fragment `trail_json.sql` of the SQL functions
 */
export function trailUntil(merchantId: RawBuilder<unknown>, { transactionId, length }: TrailPart): RawBuilder<unknown> {
  return sql`
      SELECT json_agg(json_build_object('id', e.id, 'kind', e.kind, 'created', e.created, 'amount', e.amount,
        'balance', e.balance, 'feeFlat', e.fee_flat, 'feeRate', e.fee_rate, 'descriptor', e.descriptor,
        'reference', e.reference, 'lineId', e.line_id, 'disputeId', e.dispute_id, 'rate', e.rate,
        'rateDate', e.rate_date) ORDER BY e.seq) AS trail
      FROM ${sql.table('trail_entries')} e
      WHERE e.merchant_id = ${merchantId} AND e.transaction_id = ${transactionId} AND e.seq <= ${length}`
}

/** Converts a row to a transaction. Amounts become numbers, which are exact below 2^53. */
export function toTransaction(row: TransactionColumns): Transaction {
  const { bin, last4, expiry, scheme } = row
  // List the fields individually. Spreading groups of fields would take more time than the rest of this function.
  return {
    id: row.id,
    merchantId: row.merchant_id,
    test: row.test,
    created: row.created,
    currency: row.currency,
    fundingCurrency: row.funding_currency,
    amount: row.amount,
    descriptor: row.descriptor,
    reference: row.reference,
    pending: row.pending,
    captured: row.captured,
    refunded: row.refunded,
    voided: row.voided,
    disputed: row.disputed,
    card: { bin, last4, expiry, scheme },
    codePresent: row.code_present,
    custom: row.custom,
    tds: row.tds,
    recurring: row.recurring,
    errorCode: row.error_code,
    plan: row.plan,
    unplanned: row.unplanned,
    sourceId: row.source_id,
    trail: row.trail ?? [],
  }
}
