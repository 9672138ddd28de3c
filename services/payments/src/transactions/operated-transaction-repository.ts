import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Transaction } from './transaction.ts'
import { type TransactionColumns, toTransaction, trailUntil, transactionColumns } from './transaction-columns.ts'

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
  { read }: Pools,
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
  { read }: Pools,
  input: { readonly merchantId: string; readonly id: string },
): Promise<readonly TransactionJournal[]> {
  return read.all(journalsQuery, input)
}
