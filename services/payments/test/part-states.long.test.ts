import { expect, it } from 'vitest'
import { TRUSTED_COLUMNS } from '../src/access/caller.ts'
import { callCloseOperation } from '../src/acquirers/operation-repository.ts'
import { callCloseDispute, callOpenDispute } from '../src/disputes/dispute-repository.ts'
import { callAddFraud } from '../src/disputes/fraud-repository.ts'
import type { OperationKind } from '../src/transactions/transaction.ts'
import { callExpireInBatches } from '../src/transactions/transaction-repository.ts'
import { drawnFor } from './drawn-arrows.ts'
import { createLiveMerchant } from './live-merchant.ts'
import { createTestApp, startPayments } from './payments-app.ts'
import { createStubAcquirer } from './stub-acquirer.ts'

/** The column whose amount says where the part is. What was captured stays captured when it is given back or disputed. */
const COLUMNS = ['pending', 'voided', 'refunded', 'lost', 'disputed', 'captured'] as const

/** The history of the part: its operations by kind, and its dispute. */
interface Part {
  id: string | undefined
  readonly operations: Map<OperationKind, string>
  disputeId: string | undefined
}

it('a part of a transaction goes through the arrows of its diagram, and through no others', async () => {
  const north = createStubAcquirer()
  const payments = await startPayments({ acquirers: new Map([['north', north]]) })
  const { pools } = payments.deps
  const app = await createTestApp(payments)
  const merchant = await createLiveMerchant(payments, app, { north })
  await merchant.wait(2)

  /** The state of a transaction of one minor unit, which is that of its only part. */
  const stateOf = async ({ id }: Part): Promise<string> => {
    const rows = payments.database.db
      .selectFrom('transactions')
      .select(COLUMNS)
      .where('id', '=', id ?? '')
    const row = await rows.executeTakeFirst()
    return COLUMNS.find((column) => row?.[column] === 1n) ?? 'none'
  }
  const authorize = (outcome: 'approved' | 'declined') => async (part: Part) => {
    if (part.id !== undefined) return
    north.answers.authorize = async ({ idempotencyRef }) =>
      outcome === 'approved'
        ? { verdict: 'approved', ref: `n-${idempotencyRef}`, networkRef: null }
        : { verdict: 'declined', statusCode: 'PAYMENT_CARD_LOST' }
    part.id = await merchant.charge(1).catch(() => undefined)
  }
  const book = (kind: OperationKind) => async (part: Part) => {
    if (part.id === undefined) return
    const entryId = await merchant.book(kind, part.id, 1).catch(() => undefined)
    if (entryId !== undefined) part.operations.set(kind, entryId)
  }
  const answer = (kind: OperationKind, outcome: 'accepted' | 'rejected' | 'unanswered') => async (part: Part) => {
    const id = part.operations.get(kind)
    if (id !== undefined) await callCloseOperation(pools, { merchantId: merchant.id, id, outcome, reason: null })
  }
  const close = (outcome: 'won' | 'lost') => async (part: Part) => {
    const { disputeId } = part
    if (disputeId !== undefined) await callCloseDispute(pools, { ...TRUSTED_COLUMNS, disputeId, outcome })
  }
  const events: Readonly<Record<string, (part: Part) => Promise<void>>> = {
    'the acquirer refuses': authorize('declined'),
    'the acquirer authorizes': authorize('approved'),
    capture: book('capture'),
    void: book('void'),
    refund: book('refund'),
    'the authorization expires': async () => {
      await callExpireInBatches(pools, { merchantId: merchant.id, days: 1, batches: 1 })
    },
    'the capture is rejected': answer('capture', 'rejected'),
    'the void is rejected': answer('void', 'rejected'),
    'the refund is rejected': answer('refund', 'rejected'),
    'nobody answers about the capture': answer('capture', 'unanswered'),
    'the capture is accepted after all': answer('capture', 'accepted'),
    'a dispute is opened': async (part: Part) => {
      if (part.id === undefined) return
      const dispute = { amount: 1, reasonCode: 4853, reasonTitle: 'x' }
      const { outcome } = await callOpenDispute(pools, { ...TRUSTED_COLUMNS, transactionId: part.id, dispute })
      if (outcome?.verdict === 'opened') part.disputeId = outcome.dispute.id
    },
    'the dispute is won': close('won'),
    'the dispute is lost': close('lost'),
    'a fraud alert comes': async (part: Part) => {
      if (part.id !== undefined) await callAddFraud(pools, { ...TRUSTED_COLUMNS, transactionId: part.id, fraud: {} })
    },
  }
  const authorized = ['the acquirer authorizes']
  const captured = [...authorized, 'capture']
  const disputed = [...captured, 'a dispute is opened']
  const ways = [
    [],
    authorized,
    [...authorized, 'void'],
    captured,
    [...captured, 'nobody answers about the capture'],
    [...captured, 'refund'],
    [...captured, 'refund', 'the capture is rejected'],
    disputed,
    [...disputed, 'the capture is rejected'],
    [...disputed, 'the dispute is won'],
    [...disputed, 'the dispute is lost'],
  ]
  const arrows = new Set<string>()
  for (const way of ways) {
    for (const event of Object.keys(events)) {
      const part: Part = { id: undefined, operations: new Map(), disputeId: undefined }
      for (const name of [...way, event]) {
        const from = await stateOf(part)
        await events[name]?.(part)
        const to = await stateOf(part)
        if (from !== to) arrows.add(`${from} --> ${to}`)
      }
    }
  }
  expect([...arrows].sort()).toEqual(drawnFor('transactions')[0])
  await payments.close()
})
