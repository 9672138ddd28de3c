import type { Pools } from '@trestle/database/pools.ts'
import { prepare, routeByTenant } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { AcquirerTask } from './acquirer.ts'

/** Identifies an operation by its trail entry. */
export interface OperationKey {
  readonly merchantId: string
  readonly id: string
}

interface AcquirerOperationRow {
  kind: AcquirerTask['kind']
  transaction_id: string
  amount: string
  currency: string
  descriptor: string
  acquirer: string | null
  acquirer_ref: string | null
}

/**
 * Returns an operation on a live transaction in the form in which the acquirer gets it, and the name of the acquirer.
 * @throws Error unless the trail entry must be sent to the acquirer. The service role may insert jobs, so a job does not prove
 * that an operation was booked. Entries that correct another entry have no operation.
 */
export async function getOperation(
  db: Db,
  { merchantId, id }: OperationKey,
): Promise<{ readonly acquirer: string; readonly task: AcquirerTask }> {
  const { rows } = await sql<AcquirerOperationRow>`
    SELECT e.kind, e.transaction_id, e.amount::text, t.currency, e.descriptor, t.acquirer, t.acquirer_ref
    FROM ${sql.table('trail_entries')} e
    JOIN ${sql.table('acquirer_operations')} o
      ON o.merchant_id = e.merchant_id AND o.id = e.id AND (o.transaction_id, o.kind) = (e.transaction_id, e.kind)
    JOIN ${sql.table('transactions')} t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
    WHERE e.merchant_id = ${merchantId} AND e.id = ${id} AND e.amount > 0`.execute(db)
  const [row] = rows
  if (!row) throw new Error(`there is no operation ${id}`)
  if (row.acquirer === null || row.acquirer_ref === null) throw new Error(`trail entry ${id} is of no acquirer`)
  const { kind, transaction_id: transactionId, amount, currency, descriptor, acquirer, acquirer_ref: acquirerRef } = row
  const money = { currency, amount: Number(amount) }
  return { acquirer, task: { kind, operationId: id, merchantId, transactionId, acquirerRef, money, descriptor } }
}

/** Returns operations that have been open for at least `days` days, oldest first, at most `limit`. Takes no locks. */
export async function listOverdueOperations(
  db: Db,
  { days, limit }: { readonly days: number; readonly limit: number },
): Promise<readonly OperationKey[]> {
  const { rows } = await sql<OperationKey>`
    SELECT o.merchant_id AS "merchantId", o.id FROM ${sql.table('acquirer_operations')} o
    WHERE o.status = 'open' AND o.created < now() - ${days} * interval '1 day'
    ORDER BY o.created, o.merchant_id LIMIT ${limit}`.execute(db)
  return rows
}

/** The acquirer's answer to an operation. `unanswered`: the acquirer did not answer in time. */
export interface OperationAnswer extends OperationKey {
  readonly outcome: 'accepted' | 'rejected' | 'unanswered'
  readonly reason: string | null
}

/** The result of booking an answer (reference: What is taken back). */
export interface ClosedOperation {
  /** `repeated`: the same answer is booked. `conflict`: it contradicts a booked answer or comes too late. */
  readonly verdict: 'done' | 'repeated' | 'conflict'
  readonly status: 'open' | OperationAnswer['outcome']
  /** The amount of rejected captures that refunds and disputes have taken and that is still owed, in minor units. */
  readonly owed: bigint
}

const closeQuery = prepare(
  'close_operation',
  (p: OperationAnswer) => sql<ClosedOperation>`
    SELECT f.verdict, f.status, f.owed
    FROM ${sql.table('close_operation')}(${p.merchantId}, ${p.id}, ${p.outcome}, ${p.reason}) f`,
)

/** Stores an answer and reverts an operation that was not accepted. Resolves to the result of the booking. */
export function callCloseOperation(pools: Pools, answer: OperationAnswer): Promise<ClosedOperation> {
  return pools.write.one(closeQuery, answer)
}

/** A rejected operation, for the mail to the merchant. */
export interface Rejection {
  readonly merchantId: string
  readonly email: string
  readonly transactionId: string
  readonly kind: AcquirerTask['kind']
  readonly status: 'rejected' | 'unanswered'
  /** In minor units of the transaction's currency. */
  readonly amount: bigint
  readonly currency: string
  /** The change of the balance by the rejection so far, in minor units of `balanceCurrency`, the merchant's. */
  readonly balance: bigint
  readonly balanceCurrency: string
}

const rejectionQuery = routeByTenant(
  prepare(
    'find_rejection',
    (p: OperationKey) => sql<Rejection>`
    SELECT m.id AS "merchantId", m.email, o.transaction_id AS "transactionId", o.kind, o.status, e.amount, t.currency,
      m.currency AS "balanceCurrency",
      (
        -- A merchant that has moved to the euro may have booked a part before.
        SELECT coalesce(sum(
            CASE WHEN n.currency = m.currency THEN n.amount ELSE ${sql.table('to_euro')}(n.amount, n.currency) END
          ), 0)::bigint
        FROM ${sql.table('trail_entries')} r
        JOIN ${sql.table('lines')} l ON l.merchant_id = r.merchant_id AND l.id = r.line_id
        JOIN ${sql.table('entries')} n
          ON n.merchant_id = l.merchant_id AND n.journal_id = l.journal_id AND n.account = 'merchant'
        WHERE r.merchant_id = o.merchant_id AND r.transaction_id = o.transaction_id AND r.amount < 0
          AND ${sql.table('reversed_entry')}(r.reference) = o.id
      ) AS balance
    FROM ${sql.table('acquirer_operations')} o
    JOIN ${sql.table('trail_entries')} e ON e.merchant_id = o.merchant_id AND e.id = o.id
    JOIN ${sql.table('transactions')} t ON t.merchant_id = o.merchant_id AND t.id = o.transaction_id
    JOIN ${sql.table('merchants')} m ON m.id = o.merchant_id
    WHERE o.merchant_id = ${p.merchantId} AND o.id = ${p.id} AND o.status IN ('rejected', 'unanswered')`,
  ),
  ({ merchantId }) => merchantId,
)

/** Returns the rejection of an operation. Returns `undefined` if the operation is not rejected or no longer rejected. */
export function findRejection(pools: Pools, key: OperationKey): Promise<Rejection | undefined> {
  return pools.read.first(rejectionQuery, key)
}
