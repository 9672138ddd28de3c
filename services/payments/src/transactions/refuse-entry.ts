import { amountBeyondLimit, otherCurrency, trailFull } from '../errors.ts'
import { formatMoney } from '../money/minor-units.ts'
import { refuseOldRate } from './refuse-charge.ts'
import type { OperationKind } from './transaction.ts'

/** Why nothing is added to a trail. `possible`: minor units of `currency`, the currency of the transaction. */
export type EntryRefusal =
  | { readonly reason: 'currency-mismatch'; readonly currency: string }
  | { readonly reason: 'limit-exceeded'; readonly currency: string; readonly possible: bigint }
  | { readonly reason: 'trail-full' | 'rate-unavailable' }

/**
 * Refuses an entry of the trail of a transaction (reference: Refusal of amounts).
 * @throws otherCurrency when the body names another currency than the transaction has, amountBeyondLimit for more than is left,
 * trailFull when the trail takes no more entries, rateUnavailable when there is no recent exchange rate
 */
export function refuseEntry(refusal: EntryRefusal, act: OperationKind | 'dispute'): never {
  switch (refusal.reason) {
    case 'currency-mismatch':
      throw otherCurrency(refusal.currency)
    case 'limit-exceeded':
      throw amountBeyondLimit(act, formatMoney(refusal.currency, refusal.possible))
    case 'trail-full':
      throw trailFull()
    case 'rate-unavailable':
      refuseOldRate()
  }
}
