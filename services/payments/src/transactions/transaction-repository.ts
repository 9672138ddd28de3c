import type { Lanes } from '@trestle/database/lanes.ts'
import { sql } from 'kysely'
import type { Judged } from '../access/admit.ts'
import type { Credentials } from '../access/caller.ts'
import type { PageBounds } from '../pagination/cursor.ts'
import {
  type BelowListInput,
  findBelowMerchant,
  listBelowMerchant,
  readBelow,
} from '../pagination/list-below-merchant.ts'
import type { Transaction } from './transaction.ts'
import { type TransactionColumns, toTransaction, transactionColumns } from './transaction-columns.ts'

const source = {
  table: 'transactions',
  columns: transactionColumns({ transaction: 'r', amounts: 'r', instrument: 'n' }),
  join: sql`
    LEFT JOIN ${sql.table('instruments')} n ON n.merchant_id = r.merchant_id AND n.id = r.instrument_id
    LEFT JOIN LATERAL (
      SELECT CASE WHEN r.trail_length > 0
        THEN (SELECT t.trail FROM ${sql.table('trail_until')}(r.merchant_id, r.id, r.trail_length) t) END AS trail
    ) e ON true`,
}

const readQuery = findBelowMerchant<TransactionColumns>('read_transaction', source)

/** A transaction by its id, for a member of its merchant. */
export async function readTransaction(
  lanes: Lanes,
  input: Credentials & { readonly id: string },
): Promise<Judged & { readonly transaction: Transaction | undefined }> {
  const row = await lanes.read.one(readQuery, input)
  const { verdict, identity_id: identityId } = row
  return { verdict, identityId, transaction: row.id === null ? undefined : toTransaction(row) }
}

/** Which transactions of a merchant; undefined members let all pass. */
export interface TransactionListInput extends BelowListInput {
  readonly successful: boolean | undefined
  readonly recurring: boolean | undefined
  readonly currency: string | undefined
}

const transactionsOfMerchant = listBelowMerchant<TransactionListInput, TransactionColumns>(
  'list_transactions',
  source,
  (p) => sql`(${p.successful}::boolean IS NULL OR r.successful = ${p.successful}::boolean)
    AND (${p.recurring}::boolean IS NULL OR r.recurring = ${p.recurring}::boolean)
    AND (${p.currency}::text IS NULL OR r.currency = ${p.currency}::text)`,
)

/** A page of a merchant's transactions, for a member. */
export async function listTransactions(
  lanes: Lanes,
  input: TransactionListInput & Pick<PageBounds, 'order'>,
): Promise<Judged & { readonly transactions: readonly Transaction[] }> {
  const { rows, ...judged } = await readBelow(lanes, transactionsOfMerchant, input)
  return { ...judged, transactions: rows.map(toTransaction) }
}
