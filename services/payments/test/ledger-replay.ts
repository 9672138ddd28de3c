import { type Kysely, sql } from 'kysely'
import { expect } from 'vitest'
import type { PaymentsTables } from '../src/database.ts'
import type { Rate } from '../src/money/ecb-rates.ts'
import { authorized } from '../src/transactions/amounts.model.ts'
import type { TrailKind } from '../src/transactions/transaction.ts'
import { captureWorth, convert, type ModelTransaction, rateKeyOf, reversalGross } from './ledger-model.ts'

interface TrailFigures {
  readonly transaction_id: string
  readonly kind: TrailKind
  readonly currency: string
  readonly merchant_currency: string
  readonly day: string
  readonly amount: bigint
  readonly gross: bigint
  readonly fee_flat: bigint
  readonly fee_rate: bigint
  readonly balance: bigint
}

/** The fee of new merchants for a lost dispute. */
const DISPUTE_FEE = { from: 'EUR', amount: 2_500n }

/** Recomputes each trail entry with the models, from the earlier entries. Returns the number of entries. */
export async function replay(db: Kysely<PaymentsTables>, rates: readonly Rate[]): Promise<number> {
  const { rows } = await sql<TrailFigures>`
    SELECT e.transaction_id, e.kind, t.currency, m.currency AS merchant_currency, e.amount, e.gross, e.fee_flat,
      e.fee_rate, e.balance, (e.created AT TIME ZONE 'UTC')::date::text AS day
    FROM ${sql.table('trail_entries')} e
    JOIN ${sql.table('transactions')} t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
    JOIN ${sql.table('merchants')} m ON m.id = e.merchant_id
    ORDER BY e.transaction_id, e.seq`.execute(db)
  let id = ''
  let state: ReplayState = { captures: [], amounts: authorized(0n) }
  for (const row of rows) {
    if (row.transaction_id !== id) state = { captures: [], amounts: authorized(0n) }
    id = row.transaction_id
    const { gross, fee_flat, fee_rate, balance } = row
    expect([id, row.kind, { gross, fee_flat, fee_rate, balance }]).toEqual([id, row.kind, worthOf(row, state, rates)])
    state = after(row, state, rates)
  }
  return rows.length
}

type ReplayState = Pick<ModelTransaction, 'captures' | 'amounts'>

function after(row: TrailFigures, { captures, amounts }: ReplayState, rates: readonly Rate[]): ReplayState {
  const { kind, amount, gross, currency: from, merchant_currency: to, day } = row
  switch (kind) {
    case 'capture':
      return { captures: [...captures, { amount, gross, rateKey: rateKeyOf({ from, to }, { rates, day }) }], amounts }
    case 'refund':
      return { captures, amounts: { ...amounts, refunded: amounts.refunded + amount } }
    case 'disputeLost':
      return { captures, amounts: { ...amounts, lost: amounts.lost + amount } }
    default:
      return { captures, amounts }
  }
}

function worthOf(row: TrailFigures, state: ReplayState, rates: readonly Rate[]) {
  const { kind, amount, currency: from, merchant_currency: to, day } = row
  if (kind === 'capture') {
    const { gross, fee, balance } = captureWorth({ from, to, amount, captures: state.captures }, { rates, day })
    return { gross, fee_flat: fee.flat, fee_rate: fee.rate, balance }
  }
  if (kind === 'void' || kind === 'disputeWon') return { gross: 0n, fee_flat: 0n, fee_rate: 0n, balance: 0n }
  const gross = reversalGross(state, amount)
  const fee_flat = kind === 'disputeLost' ? convert({ ...DISPUTE_FEE, to }, { rates, day }) : 0n
  return { gross, fee_flat, fee_rate: 0n, balance: -gross - fee_flat }
}
