import type { Meter } from '@opentelemetry/api'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import { createGroupCommit } from '@trestle/database/batches/group-commit.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare, routeByTenant } from '@trestle/database/prepare.ts'
import { isLockTimeout, isRefusedStatement } from '@trestle/database/unavailable.ts'
import { sql } from 'kysely'
import type { Credentials, IdempotentRequest } from '../access/caller.ts'
import { refuseRunning } from '../access/require-access.ts'
import type { Judged, Verdict } from '../access/verdict.ts'
import type { Trx } from '../database.ts'
import { serverBusy } from '../errors.ts'
import { tagOf } from '../merchants/merchant.ts'
import type { EntryRefusal } from './refuse-entry.ts'
import type { OperationKind, Transaction } from './transaction.ts'
import { type TransactionColumns, toTransaction, transactionColumns } from './transaction-columns.ts'

/** A capture, refund or void that a client requests. `amount` is positive, in minor units of the transaction's currency. */
export interface Operation extends Credentials {
  readonly kind: OperationKind
  readonly transactionId: string
  readonly amount: number
  /** The currency that the client expects. */
  readonly currency?: string | undefined
  readonly descriptor?: string | undefined
  readonly reference?: string | undefined
  readonly idempotentRequest: IdempotentRequest | undefined
}

/** A capture, refund or void of a merchant's transaction that an operator requests. */
export interface OperatorOperation extends Omit<Operation, keyof Credentials | 'idempotentRequest'> {
  readonly merchantId: string
}

/** The transaction after the operation, or after the first request if it is repeated, or why nothing was done. */
export type OperationOutcome =
  | { readonly verdict: 'done'; readonly transaction: Transaction }
  | { readonly verdict: 'refused'; readonly refusal: EntryRefusal }

export type OperationResult = Judged<OperationOutcome>

/** The exchange rates that captures may use. */
export interface RateTerms {
  /** The margin that is deducted from an exchange, in basis points. */
  readonly marginBasisPoints: number
  /** Captures of live merchants are refused if the rate is older than this number of days. */
  readonly ageDaysMax: number
}

/** The database pools, the metrics, and the limits of one batch. */
export interface OperationGroupOptions {
  readonly pools: Pick<Pools, 'write'>
  readonly meter: Meter
  readonly terms: RateTerms
  /** If it returns `merchant`, a batch contains operations of one merchant only. */
  readonly scope: () => 'any' | 'merchant'
}

/** Sends captures, refunds and voids to the database. Operations that arrive at the same time share one call. */
export interface OperationGroup {
  /**
   * Carries out an operation.
   * @throws serverBusy if the operation would wait for more than 5 s. Nothing has been done. Throws conflict instead if the first
   * request with the same Idempotency-Key is still running then.
   */
  readonly run: (operation: Operation) => Promise<OperationResult>
  /** Carries out an operator's operation in their database transaction, without batching or a membership check. */
  readonly runForOperator: (trx: Trx, operation: OperatorOperation) => Promise<OperationResult>
}

const BATCH_OPERATIONS_MAX = 128

/**
 * Creates the group through which all captures, refunds and voids of this process go to the database. Operations that arrive
 * while batches are running share the next batch. A batch contains each transaction only once. So an idempotent request with the
 * same Idempotency-Key waits here until the first request has ended, and then finds its result in the database. Other processes
 * run their own batches, so correctness depends only on the locks of the database (reference: Batches, Idempotency-Key).
 */
export function createOperationGroup({ pools, meter, terms, scope }: OperationGroupOptions): OperationGroup {
  const count = createCounters(meter)
  const running = new Set<string>()
  const group = createGroupCommit<Operation, OperationResult>({
    carryOut: (operations) => callRunOperations(pools, operations, terms),
    keyOf: ({ transactionId }) => transactionId,
    fits: (one, other) => scope() === 'any' || isSameMerchant(one, other),
    isWorthRepeating: isRefusedStatement,
    sizeMax: BATCH_OPERATIONS_MAX,
    tooMany: serverBusy,
  })
  return {
    run: async (operation: Operation): Promise<OperationResult> => {
      const name = nameOf(operation)
      const isRepeat = name !== undefined && running.has(name)
      if (name !== undefined) running.add(name)
      try {
        const result = await group.add(operation)
        count.result(operation, result)
        return result
      } catch (error) {
        if (isLockTimeout(error)) count.conflict(operation)
        if (isRepeat && isServerBusy(error)) refuseRunning(error)
        throw error
      } finally {
        if (name !== undefined && !isRepeat) running.delete(name)
      }
    },
    runForOperator: async (trx, operation) => {
      const result = await callRunOperatorOperation(trx, operation, terms)
      count.result(operation, result)
      return result
    },
  }
}

function isSameMerchant(one: Operation, other: Operation): boolean {
  return tagOf(one.transactionId) === tagOf(other.transactionId)
}

function isServerBusy(error: unknown): boolean {
  return error instanceof HttpError && error.code === serverBusy.code
}

/** A name that a client's requests with the same Idempotency-Key and body share. `undefined` without a key. */
function nameOf({ keyMac, userEmail, idempotentRequest }: Operation): string | undefined {
  if (!idempotentRequest) return undefined
  const { path, key, fingerprint } = idempotentRequest
  return JSON.stringify([keyMac?.toString('base64'), userEmail, path, key, fingerprint.toString('base64')])
}

type OperationRow = TransactionColumns & {
  verdict: Verdict | EntryRefusal['reason']
  identity_id: string | null
  possible: bigint
}

interface RunOperationsCall extends RateTerms {
  readonly operations: string
  /** The id of any transaction of the operations. In a distributed database, all operations have the same merchant. */
  readonly transactionId: string
}

const operationColumns = sql`f.verdict, f.identity_id, f.possible,
      ${transactionColumns({ transaction: '(f.transaction)', amounts: '(f.movement)', instrument: '(f.instrument)' })}`

const runQuery = routeByTenant(
  prepare(
    'run_operations',
    (p: RunOperationsCall) => sql<OperationRow>`
    SELECT ${operationColumns}
    FROM ${sql.table('run_operations')}(${p.operations}, ${p.marginBasisPoints}, ${p.ageDaysMax}) f`,
  ),
  ({ transactionId }, find) => find(transactionId),
  (p) => sql`
    SELECT ${operationColumns}
    FROM ${sql.table('run_merchant_operations')}(${p.tenant}, ${p.operations}, ${p.marginBasisPoints}, ${p.ageDaysMax}) f`,
)

/**
 * Carries out operations on different transactions. All operations are committed, or none if the call fails. The results are in
 * the order of the operations.
 */
export async function callRunOperations(
  { write }: OperationGroupOptions['pools'],
  operations: readonly Operation[],
  terms: RateTerms,
): Promise<readonly OperationResult[]> {
  const [{ transactionId = '' } = {}] = operations
  const rows = await write.all(runQuery, {
    operations: JSON.stringify(operations.map(toItem)),
    transactionId,
    ...terms,
  })
  return rows.map(toResult)
}

async function callRunOperatorOperation(
  trx: Trx,
  { merchantId, transactionId, kind, amount, currency, descriptor, reference }: OperatorOperation,
  { marginBasisPoints, ageDaysMax }: RateTerms,
): Promise<OperationResult> {
  const { rows } = await sql<OperationRow>`
    SELECT ${operationColumns}
    FROM ${sql.table('run_operator_operation')}(${merchantId}, ${transactionId}, ${kind}, ${amount}::bigint, ${currency ?? null},
      ${descriptor ?? null}, ${reference ?? null}, ${marginBasisPoints}::int, ${ageDaysMax}::int) f`.execute(trx)
  const [row] = rows
  if (!row) throw new Error('run_operator_operation answered no row')
  return toResult(row)
}

function toItem({ keyMac, idempotentRequest, ...operation }: Operation): object {
  const { key, fingerprint } = idempotentRequest ?? {}
  return { ...operation, keyMac: keyMac?.toString('hex'), key, fingerprint: fingerprint?.toString('hex') }
}

function toResult(row: OperationRow): OperationResult {
  const { verdict, identity_id: identityId, currency, possible } = row
  switch (verdict) {
    case 'done':
    case 'replayed':
      return { verdict, identityId, outcome: { verdict: 'done', transaction: toTransaction(row) } }
    case 'limit-exceeded':
      return { verdict: 'done', identityId, outcome: refusedBy({ reason: verdict, currency, possible }) }
    case 'currency-mismatch':
      return { verdict: 'done', identityId, outcome: refusedBy({ reason: verdict, currency }) }
    case 'trail-full':
    case 'rate-unavailable':
      return { verdict: 'done', identityId, outcome: refusedBy({ reason: verdict }) }
    default:
      return { verdict, identityId, outcome: undefined }
  }
}

function refusedBy(refusal: EntryRefusal): OperationOutcome {
  return { verdict: 'refused', refusal }
}

function createCounters(meter: Meter) {
  const operations = meter.createCounter('payments_operations_total', {
    description: 'Captures, refunds and voids that were judged',
  })
  const conflicts = startAtZero(
    meter.createCounter('payments_operation_conflicts_total', {
      description: 'Operations that waited too long for a lock',
    }),
    [{ kind: 'capture' }, { kind: 'refund' }, { kind: 'void' }],
  )
  const journals = meter.createCounter('payments_ledger_journals_total', {
    description: 'Journals of captures and refunds',
  })
  return {
    result: ({ kind }: Pick<Operation, 'kind'>, { verdict, outcome }: OperationResult) => {
      if (outcome?.verdict === 'refused') return operations.add(1, { kind, outcome: outcome.refusal.reason })
      const test = outcome === undefined ? {} : { test: outcome.transaction.test }
      operations.add(1, { kind, ...test, outcome: verdict })
      if (verdict === 'done' && outcome && kind !== 'void') journals.add(1, { kind })
    },
    conflict: ({ kind }: Operation) => conflicts.add(1, { kind }),
  }
}
