/** The kinds of movements of money and of changes to a transaction's state. */
export type MovementKind =
  | 'capture'
  | 'refund'
  | 'void'
  | 'disputeWon'
  | 'disputeLost'
  | 'payout'
  | 'payoutSettled'
  | 'payoutReversal'
  | 'adjustment'
  | 'schemeSettled'
  | 'currencyClosed'
  | 'currencyOpened'

/** A movement in minor units: `amount` is in `currency`, and `gross` and `fee` are in the funding currency. */
export interface Movement {
  readonly kind: MovementKind
  readonly amount: bigint
  /** The currency of the transaction. */
  readonly currency: string
  /** Negative if an adjustment takes money from the merchant. */
  readonly gross: bigint
  readonly fee: bigint
  /** The money that a lost dispute takes beyond the captures. `gross` is its worth in the merchant's currency. */
  readonly excess?: { readonly amount: bigint; readonly currency: string; readonly gross: bigint }
  /**
   * The merchant's currency before its last change of currency, for amounts that were authorized or paid out before that change.
   * `undefined` if the currency has not changed.
   */
  readonly formerCurrency?: string
}

/** An entry of a journal. The amount is in minor units of the currency, and a credit is positive. */
export interface Entry {
  readonly account: string
  readonly currency: string
  readonly amount: bigint
}

/**
 * Returns the entries of a movement, in order, without entries of zero. They sum to zero in each currency. A void and a won
 * dispute have no entries. For a payout from before a change of the merchant's currency, the amount is in the former currency.
 * This is the model of the SQL function `entries_of` (reference: Postings).
 */
export function entriesOf(movement: Movement, merchantCurrency: string): Entry[] {
  const { kind, currency, excess, formerCurrency } = movement
  const beyond = excess ? cardForm(-excess.amount, -excess.gross, 0n) : []
  const isPayout = kind === 'payoutSettled' || kind === 'payoutReversal'
  const foreign = isPayout && formerCurrency !== undefined ? formerCurrency : currency
  const isMoved = formerCurrency !== undefined || kind === 'currencyClosed' || kind === 'currencyOpened'
  const currencies = { own: merchantCurrency, isMoved }
  return [
    ...entriesOfForm(formOf(movement), { ...currencies, foreign }),
    ...entriesOfForm(beyond, { ...currencies, foreign: excess?.currency ?? currency }),
  ]
}

interface Currencies {
  readonly own: string
  readonly foreign: string
  /** Whether the merchant's currency changes, or has changed since the payout. All amounts are then exchanged. */
  readonly isMoved: boolean
}

function entriesOfForm(form: readonly Side[], { own, foreign, isMoved }: Currencies): Entry[] {
  const isExchanged = isMoved || foreign !== own
  const sides = form.map(([account, amount, isOwn]) => ({ account, currency: isOwn ? own : foreign, amount }))
  return sides.filter(({ account, amount }) => amount !== 0n && (account !== 'fx_position' || isExchanged))
}

/** Returns how much these entries change the merchant's balance, in minor units of the merchant's currency. */
export function balanceEffect(entries: readonly Entry[]): bigint {
  return entries.reduce((sum, { account, amount }) => (account === 'merchant' ? sum + amount : sum), 0n)
}

type Side = readonly [account: string, amount: bigint, isOwn: boolean]

function formOf({ kind, amount, gross, fee, formerCurrency }: Movement): readonly Side[] {
  switch (kind) {
    case 'capture':
      return cardForm(amount, gross, fee)
    case 'refund':
    case 'disputeLost':
      return cardForm(-amount, -gross, fee)
    case 'payout':
      return transfer('merchant', 'payout_clearing', gross)
    case 'payoutSettled':
      return transfer('payout_clearing', 'bank', gross, formerCurrency === undefined)
    case 'payoutReversal':
      if (formerCurrency === undefined) return transfer('payout_clearing', 'merchant', gross)
      return [
        ['payout_clearing', -amount, false],
        ['fx_position', amount, false],
        ['merchant', gross, true],
        ['fx_position', -gross, true],
      ]
    case 'adjustment':
      return transfer('adjustment', 'merchant', gross)
    case 'currencyClosed':
    case 'currencyOpened':
      return [
        ['fx_position', -gross, true],
        ['merchant', gross, true],
      ]
    case 'schemeSettled':
      return [
        ['scheme_receivable', amount, false],
        ['bank', -amount, false],
      ]
    case 'void':
    case 'disputeWon':
      return []
  }
}

function cardForm(amount: bigint, gross: bigint, fee: bigint): readonly Side[] {
  return [
    ['scheme_receivable', -amount, false],
    ['merchant', gross, true],
    ['merchant', -fee, true],
    ['fee_income', fee, true],
    ['fx_position', amount, false],
    ['fx_position', -gross, true],
  ]
}

function transfer(from: string, to: string, amount: bigint, isOwn = true): readonly Side[] {
  return [
    [from, -amount, isOwn],
    [to, amount, isOwn],
  ]
}
