import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Move } from './currency-move.ts'
import { type Finding, findingsOf } from './invariants.ts'

/**
 * A transaction with the sums of its trail, its lines and its disputes. Amounts are in minor units. `gross_…`, `…_balance` and
 * `…_excess` are in its funding currency, `moved_…` in the merchant's currency, and all others in the transaction's currency.
 * `trail_length`, `trail_entries` and `trail_last` count entries. If the merchant has moved to the euro, `…_balance` covers only
 * the time before the move. `moved_trail` and `moved_lines` are the sums of trail and lines since the move.
 */
export interface TransactionFigures {
  readonly id: string
  readonly successful: boolean
  readonly amount: bigint
  readonly pending: bigint
  readonly captured: bigint
  readonly refunded: bigint
  readonly voided: bigint
  readonly disputed: bigint
  readonly lost: bigint
  readonly trail_length: number
  readonly trail_entries: bigint
  readonly trail_last: number
  readonly trail_captured: bigint
  readonly trail_refunded: bigint
  readonly trail_voided: bigint
  readonly trail_won: bigint
  readonly trail_lost: bigint
  readonly trail_excess: bigint
  readonly trail_balance: bigint
  readonly gross_captured: bigint
  readonly gross_reversed: bigint
  readonly line_balance: bigint
  readonly moved_trail: bigint
  readonly moved_lines: bigint
  readonly disputes_open: bigint
  readonly disputes_won: bigint
  readonly disputes_lost: bigint
  readonly disputes_excess: bigint
}

const PAGE_ROWS = 500
const sumOf = (column: string, condition: string) =>
  sql.raw(`coalesce(sum(${column}) FILTER (WHERE ${condition}), 0)::bigint`)

/** Yields the figures of a merchant's transactions. Only one page is in memory. */
export async function* streamFigures(
  db: Db,
  merchantId: string,
  move: Move | undefined,
): AsyncGenerator<TransactionFigures, void> {
  for (let after = ''; ; ) {
    const rows = await listFigures(db, { merchantId, after, move })
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < PAGE_ROWS) return
    after = last.id
  }
}

interface FiguresPage {
  readonly merchantId: string
  /** The id of the last transaction of the previous page. */
  readonly after: string
  readonly move: Move | undefined
}

async function listFigures(db: Db, { merchantId, after, move }: FiguresPage): Promise<readonly TransactionFigures[]> {
  // If the merchant has moved to the euro since the transaction, `cut` is the id of the journal of the move: lines with this id
  // or a higher id are in euro, and all earlier lines are in the former currency. Any other transaction has all its lines in its
  // funding currency, so its `cut` is above every id: ids are hexadecimal, and `g` comes after `f`.
  const cut = sql`(CASE WHEN t.funding_currency = ${move?.formerCurrency ?? null}::text
    THEN ${move?.journalId ?? null}::text ELSE 'g' END)`
  const toEuro = (amount: RawBuilder<unknown>) => sql`${sql.table('to_euro')}((${amount})::bigint, t.funding_currency)`
  const worth = sql`CASE WHEN kind = 'capture' THEN gross ELSE -gross END`
  const excess = sql`CASE WHEN kind = 'disputeLost' THEN -balance - gross - fee_flat - fee_rate ELSE 0 END`
  const { rows } = await sql<TransactionFigures>`
    SELECT t.id, t.successful, t.amount, t.pending, t.captured, t.refunded, t.voided, t.disputed, t.lost,
      t.trail_length, e.*, l.*, d.*
    FROM ${sql.table('transactions')} t
    CROSS JOIN LATERAL (
      SELECT count(*) AS trail_entries, coalesce(max(seq), 0) AS trail_last,
        ${sumOf('amount', "kind = 'capture'")} AS trail_captured, ${sumOf('amount', "kind = 'refund'")} AS trail_refunded,
        ${sumOf('amount', "kind = 'void'")} AS trail_voided, ${sumOf('amount', "kind = 'disputeWon'")} AS trail_won,
        ${sumOf('amount', "kind = 'disputeLost'")} AS trail_lost,
        ${sumOf('-balance - gross - fee_flat - fee_rate', "kind = 'disputeLost'")} AS trail_excess,
        coalesce(sum(balance) FILTER (WHERE id < ${cut}), 0)::bigint AS trail_balance,
        coalesce(${toEuro(sql`sum(${worth})`)} - ${toEuro(sql`coalesce(sum(${worth}) FILTER (WHERE id < ${cut}), 0)`)}
          - sum(${toEuro(sql`fee_flat + fee_rate`)} + ${toEuro(excess)}) FILTER (WHERE id >= ${cut}), 0)::bigint AS moved_trail,
        ${sumOf('gross', "kind = 'capture'")} AS gross_captured, ${sumOf('gross', "kind <> 'capture'")} AS gross_reversed
      FROM ${sql.table('trail_entries')} WHERE merchant_id = t.merchant_id AND transaction_id = t.id
    ) e
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(balance) FILTER (WHERE id < ${cut}), 0)::bigint AS line_balance,
        coalesce(sum(balance) FILTER (WHERE id >= ${cut}), 0)::bigint AS moved_lines
      FROM ${sql.table('lines')} WHERE merchant_id = t.merchant_id AND transaction_id = t.id
    ) l
    CROSS JOIN LATERAL (
      SELECT ${sumOf('covered', "status = 'open'")} AS disputes_open, ${sumOf('covered', "status = 'won'")} AS disputes_won,
        ${sumOf('covered', "status = 'lost'")} AS disputes_lost,
        ${sumOf('excess_gross', "status = 'lost'")} AS disputes_excess
      FROM ${sql.table('disputes')} WHERE merchant_id = t.merchant_id AND transaction_id = t.id
    ) d
    WHERE t.merchant_id = ${merchantId} AND t.id > ${after} ORDER BY t.id LIMIT ${PAGE_ROWS}`.execute(db)
  return rows
}

/** Returns the broken invariants of a transaction (reference: Invariants). */
export function checkFigures(figures: TransactionFigures): readonly Finding[] {
  const { amount, pending, captured, refunded, voided, disputed, lost, trail_length: length } = figures
  const parts = [pending, captured, refunded, voided, disputed, lost]
  return findingsOf([
    [
      'amounts',
      pending + captured + voided === (figures.successful ? amount : 0n),
      'its amounts do not sum to its amount',
    ],
    ['bounds', parts.every((part) => part >= 0n) && captured <= amount, 'an amount is negative or too large'],
    ['bounds', refunded + disputed <= captured, 'more is refunded and disputed than was captured'],
    [
      'trailAmounts',
      captured === figures.trail_captured,
      `captured ${captured}, in its trail ${figures.trail_captured}`,
    ],
    [
      'trailAmounts',
      refunded === figures.trail_refunded,
      `refunded ${refunded}, in its trail ${figures.trail_refunded}`,
    ],
    ['trailAmounts', voided === figures.trail_voided, `voided ${voided}, in its trail ${figures.trail_voided}`],
    [
      'disputes',
      disputed === figures.disputes_open + figures.disputes_lost,
      'the disputed amount is not that of its disputes',
    ],
    ['disputes', lost === figures.trail_lost && lost === figures.disputes_lost, 'lost disputes differ from its trail'],
    ['disputes', figures.trail_won === figures.disputes_won, 'disputes that were won differ from its trail'],
    [
      'disputes',
      figures.trail_excess === figures.disputes_excess,
      `its trail took ${figures.trail_excess} beyond the captures, its lost disputes ${figures.disputes_excess}`,
    ],
    ['trailLength', BigInt(length) === figures.trail_entries && length === figures.trail_last, 'its trail has gaps'],
    [
      'trailBalance',
      figures.trail_balance === figures.line_balance,
      'its trail and its lines moved the balance differently',
    ],
    [
      'trailBalance',
      figures.moved_trail === figures.moved_lines,
      `its trail is worth ${figures.moved_trail} since the move to the euro, its lines moved ${figures.moved_lines}`,
    ],
    [
      'reversals',
      refunded + lost < captured || figures.gross_captured === figures.gross_reversed,
      'all of it is reversed, but not at what it brought',
    ],
  ])
}
