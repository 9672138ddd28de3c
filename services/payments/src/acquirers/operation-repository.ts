import { type Kysely, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'
import type { AcquirerTask } from './acquirer.ts'

interface OperationRow {
  kind: AcquirerTask['kind']
  transaction_id: string
  amount: string
  currency: string
  descriptor: string
  acquirer: string | null
  acquirer_ref: string | null
}

/** A movement of a live transaction as its acquirer is told of it, and who that is. */
export async function getOperation(
  db: Kysely<PaymentsTables>,
  { merchantId, id }: { readonly merchantId: string; readonly id: string },
): Promise<{ readonly acquirer: string; readonly task: AcquirerTask }> {
  const { rows } = await sql<OperationRow>`
    SELECT e.kind, e.transaction_id, e.amount::text, t.currency, e.descriptor, t.acquirer, t.acquirer_ref
    FROM ${sql.table('trail_entries')} e
    JOIN ${sql.table('transactions')} t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
    WHERE e.merchant_id = ${merchantId} AND e.id = ${id}`.execute(db)
  const [row] = rows
  if (!row) throw new Error(`there is no trail entry ${id}`)
  if (row.acquirer === null || row.acquirer_ref === null) throw new Error(`trail entry ${id} is of no acquirer`)
  const { kind, transaction_id: transactionId, amount, currency, descriptor, acquirer, acquirer_ref: acquirerRef } = row
  const money = { currency, amount: Number(amount) }
  return { acquirer, task: { kind, operationId: id, merchantId, transactionId, acquirerRef, money, descriptor } }
}
