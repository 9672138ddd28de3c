/** What moves money, or the state of a transaction. */
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

/** The money of a movement. Minor units; `gross` and `fee` are in the merchant's currency, `amount` in `currency`. */
export interface Movement {
  readonly kind: MovementKind
  readonly amount: bigint
  /** Of the transaction. */
  readonly currency: string
  /** Negative for an adjustment to the merchant's loss. */
  readonly gross: bigint
  readonly fee: bigint
}

/** One side of a journal: credit is positive. */
export interface Entry {
  readonly account: string
  readonly currency: string
  readonly amount: bigint
}

/**
 * The entries of a movement, in order, without those that are zero; none for a void and for a dispute that was won. They sum
 * to zero in each currency. The model of the SQL function `entries_of` (reference: Postings).
 */
export function entriesOf(movement: Movement, merchantCurrency: string): Entry[] {
  const { currency } = movement
  const sides: Entry[] = formOf(movement).map(([account, amount, isOwn]) => ({
    account,
    currency: isOwn ? merchantCurrency : currency,
    amount,
  }))
  return sides.filter(
    ({ account, amount }) => amount !== 0n && (account !== 'fx_position' || currency !== merchantCurrency),
  )
}

/** What the entries do to the merchant's balance. */
export function balanceEffect(entries: readonly Entry[]): bigint {
  return entries.reduce((sum, { account, amount }) => (account === 'merchant' ? sum + amount : sum), 0n)
}

type Side = readonly [account: string, amount: bigint, isOwn: boolean]

function formOf({ kind, amount, gross, fee }: Movement): readonly Side[] {
  switch (kind) {
    case 'capture':
      return cardForm(amount, gross, fee)
    case 'refund':
    case 'disputeLost':
      return cardForm(-amount, -gross, fee)
    case 'payout':
      return transfer('merchant', 'payout_clearing', gross)
    case 'payoutSettled':
      return transfer('payout_clearing', 'bank', gross)
    case 'payoutReversal':
      return transfer('payout_clearing', 'merchant', gross)
    case 'adjustment':
      return transfer('adjustment', 'merchant', gross)
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

function transfer(from: string, to: string, amount: bigint): readonly Side[] {
  return [
    [from, -amount, true],
    [to, amount, true],
  ]
}
