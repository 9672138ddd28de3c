import type { Pools } from '@trestle/database/pools.ts'
import type { Operator } from '@trestle/operators/operator.ts'
import { refuseMissing } from '../access/require-access.ts'
import type { PaymentsConfig } from '../config.ts'
import type { Dispute } from '../disputes/dispute.ts'
import { listAllDisputes } from '../disputes/dispute-repository.ts'
import type { Fraud } from '../disputes/fraud.ts'
import { listAllFrauds } from '../disputes/fraud-repository.ts'
import { findShownQuota, type ShownQuota } from '../operators/refund-quota-repository.ts'
import { HIGHEST, LOWEST } from '../pagination/page-query.ts'
import {
  getTransactionForOperator,
  listJournals,
  type TransactionForOperator,
  type TransactionJournal,
} from '../transactions/operator-transaction-repository.ts'
import { type AmountsLeft, amountsLeft } from '../transactions/trail-bounds.ts'
import { findTransactionTenant } from '../transactions/transaction-repository.ts'
import type { EventSummary } from '../webhooks/event.ts'
import { listEventsOfTransaction } from '../webhooks/operator-event-repository.ts'

/** A transaction with all details for an operator. */
export interface ShownTransaction extends TransactionForOperator {
  /** The newest 100, newest first. The same holds for disputes and fraud alerts. */
  readonly journals: readonly TransactionJournal[]
  readonly events: readonly EventSummary[]
  readonly disputes: readonly Dispute[]
  readonly frauds: readonly Fraud[]
  readonly left: AmountsLeft
  /** `undefined` if no refund quota limits the operator. */
  readonly allowance: ShownQuota | undefined
}

const FIRST_PAGE = { limit: 100, above: LOWEST, below: HIGHEST, order: 'newest-first' } as const

/** A transaction of any merchant, for an operator (console reference: Transaction of operators). @throws notFound */
export async function showTransaction(
  { operatorPools, config }: { readonly config: Pick<PaymentsConfig, 'refundLimits'>; readonly operatorPools: Pools },
  { operator, transactionId: id }: { readonly operator: Operator; readonly transactionId: string },
): Promise<ShownTransaction> {
  const { merchantId, currency } = (await findTransactionTenant(operatorPools, id)) ?? refuseMissing()
  const page = { ...FIRST_PAGE, filters: { merchant_id: merchantId, transaction_id: id } }
  const [shown, journals, events, disputes, frauds, allowance] = await Promise.all([
    getTransactionForOperator(operatorPools, { merchantId, id }),
    listJournals(operatorPools, { merchantId, id }),
    listEventsOfTransaction(operatorPools, { merchantId, id }),
    listAllDisputes(operatorPools, page),
    listAllFrauds(operatorPools, page),
    findShownQuota(operatorPools, config.refundLimits, { operator, currency }),
  ])
  const left = amountsLeft(shown.transaction, operator.role)
  return { ...shown, journals, events, disputes, frauds, left, allowance }
}
