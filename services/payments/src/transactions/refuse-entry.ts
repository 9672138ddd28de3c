import {
  amountBeyondLimit,
  currencyWithoutRate,
  otherCurrency,
  paymentRefused,
  rateUnavailable,
  trailFull,
  unknownSource,
} from '../errors.ts'
import { formatMoney } from '../money/minor-units.ts'
import type { OperationKind } from './transaction.ts'

/** Why no entry is added to a trail. `possible` is in minor units of `currency`, the currency of the transaction. */
export type EntryRefusal =
  | { readonly reason: 'currency-mismatch'; readonly currency: string }
  | { readonly reason: 'limit-exceeded'; readonly currency: string; readonly possible: bigint }
  | { readonly reason: 'trail-full' | 'rate-unavailable' }

/** Refuses an entry for the trail of a transaction (reference: Refusal of amounts). */
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

/** Refuses to charge or save a card, with a processing error. */
export function refuseCard(errorCode: number, { replayed }: { readonly replayed: boolean }): never {
  throw paymentRefused(errorCode, { replayed })
}

/** Refuses a source that is not a successful payment of the merchant. @param field the body's field with the source */
export function refuseSource(field: string): never {
  throw unknownSource(field)
}

export function refuseOldRate(): never {
  throw rateUnavailable()
}

export function refuseCurrency(): never {
  throw currencyWithoutRate()
}
