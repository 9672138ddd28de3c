import { type Kysely, sql } from 'kysely'
import { expect } from 'vitest'
import type { PaymentsTables } from '../src/database.ts'
import type { TrailKind } from '../src/merchant-tables.ts'
import type { Rate } from '../src/money/rates.ts'
import { authorized } from '../src/transactions/amounts.ts'
import { captureWorth, convert, reversalGross } from './ledger-model.ts'

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

/** What new merchants pay for a dispute that is lost. */
const DISPUTE_FEE = { from: 'EUR', amount: 2_500n }

/** Computes every entry of every trail again by the models, from the entries before it. Answers how many there were. */
export async function replay(db: Kysely<PaymentsTables>, rates: readonly Rate[]): Promise<number> {
  const { rows } = await sql<TrailFigures>`
    SELECT e.transaction_id, e.kind, t.currency, m.currency AS merchant_currency, e.amount, e.gross, e.fee_flat,
      e.fee_rate, e.balance, (e.created AT TIME ZONE 'UTC')::date::text AS day
    FROM ${sql.table('trail_entries')} e
    JOIN ${sql.table('transactions')} t ON t.merchant_id = e.merchant_id AND t.id = e.transaction_id
    JOIN ${sql.table('merchants')} m ON m.id = e.merchant_id
    ORDER BY e.transaction_id, e.seq`.execute(db)
  let id = ''
  let state = { captures: [] as { amount: bigint; gross: bigint }[], amounts: authorized(0n) }
  for (const row of rows) {
    if (row.transaction_id !== id) state = { captures: [], amounts: authorized(0n) }
    id = row.transaction_id
    const { amount, gross, fee_flat, fee_rate, balance } = row
    expect([id, row.kind, { gross, fee_flat, fee_rate, balance }]).toEqual([id, row.kind, worthOf(row, state, rates)])
    if (row.kind === 'capture') state.captures.push({ amount, gross })
    const { refunded, lost } = state.amounts
    if (row.kind === 'refund') state.amounts = { ...state.amounts, refunded: refunded + amount }
    if (row.kind === 'disputeLost') state.amounts = { ...state.amounts, lost: lost + amount }
  }
  return rows.length
}

type ReplayState = Parameters<typeof reversalGross>[0]

function worthOf(row: TrailFigures, state: ReplayState, rates: readonly Rate[]) {
  const { kind, amount, currency: from, merchant_currency: to, day } = row
  if (kind === 'capture') {
    const { gross, fee, balance } = captureWorth({ from, to, amount }, { rates, day })
    return { gross, fee_flat: fee.flat, fee_rate: fee.rate, balance }
  }
  if (kind === 'void' || kind === 'disputeWon') return { gross: 0n, fee_flat: 0n, fee_rate: 0n, balance: 0n }
  const gross = reversalGross(state, amount)
  const fee_flat = kind === 'disputeLost' ? convert({ ...DISPUTE_FEE, to }, { rates, day }) : 0n
  return { gross, fee_flat, fee_rate: 0n, balance: -gross - fee_flat }
}
