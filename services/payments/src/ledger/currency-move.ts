import { toEuro } from '../money/currencies.ts'
import type { TrailRow } from './chain.ts'
import type { Rule } from './invariants.ts'
import type { EntriesTable, JournalsTable, LineKind, LinesTable } from './ledger-tables.ts'

/** The move of a merchant to the euro. `journalId` and later lines are in euro (reference: Moving to the euro). */
export interface Move {
  readonly formerCurrency: string
  readonly journalId: string
}

/** The present currency of a merchant, and the move to this currency, if there was one. */
export interface Funding {
  readonly currency: string
  readonly move: Move | undefined
}

/** How far the check of a move has come. */
export interface MoveState {
  /** `undefined` if the row of the merchant is missing. */
  readonly funding: Funding | undefined
  journal: JournalsTable | undefined
  /** The balance that the move closed, in the former currency. `undefined` before the move. */
  closed: bigint | undefined
}

/** The accounts whose entries are in the currency of the merchant. */
const OF_FUNDING: ReadonlySet<string> = new Set(['merchant', 'fee_income'])

/** Returns whether the entries of a journal for balance and fees are in the currency that the merchant had at that journal. */
export function isInFunding(entries: readonly EntriesTable[], funding: Funding | undefined, id: string): boolean {
  if (funding === undefined) return true
  const { currency, move } = funding
  const own = move && id < move.journalId ? move.formerCurrency : currency
  return entries.every((entry) => !OF_FUNDING.has(entry.account) || entry.currency === own)
}

/** Returns whether a line has the kind of its journal. The lines of a move to the euro have the kind `adjustment`. */
export function isKindOf({ kind }: JournalsTable, lineKind: LineKind): boolean {
  return (kind === 'currencyClosed' || kind === 'currencyOpened' ? 'adjustment' : kind) === lineKind
}

/** Checks that the lines of a move close the balance at 0, and open it with its value at the fixed rate. */
export function checkMove(state: MoveState, row: LinesTable): readonly Rule[] {
  const { journal, funding, closed } = state
  if (journal?.kind === 'currencyClosed') {
    state.closed = -row.balance
    const isClosing = closed === undefined && row.balance_after === 0n
    return [['currency', isClosing, 'does not close the balance once, at 0']]
  }
  if (journal?.kind !== 'currencyOpened') return []
  const { formerCurrency, journalId } = funding?.move ?? {}
  const worth = closed === undefined ? undefined : toEuro(closed, formerCurrency ?? '')
  const isOpening = journal.id === journalId && funding?.currency === 'EUR' && row.balance === worth
  return [['currency', isOpening, 'does not open what was closed at the fixed rate']]
}

/**
 * Returns whether a line agrees with its trail entry. After a move, the trail of an older transaction stays in the former
 * currency, but its new lines are in euro. For these lines, only the fee is compared here, at the fixed rate. `checkFigures`
 * compares the rest.
 */
export function isLineOf(line: LinesTable, trail: TrailRow | undefined, move: Move | undefined): boolean {
  if (trail?.line_id !== line.id || trail.transaction_id !== line.transaction_id) return false
  if (Number(trail.created) !== Number(line.created)) return false
  const fee = trail.fee_flat + trail.fee_rate
  if (trail.balance === line.balance && fee === line.fee) return true
  const isMoved = move !== undefined && line.id > move.journalId && trail.transaction_id < move.journalId
  return isMoved && line.fee === toEuro(fee, move.formerCurrency)
}
