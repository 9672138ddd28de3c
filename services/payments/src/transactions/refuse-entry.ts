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

/**
 * Refuses a charge of a card, or to keep the card.
 * @throws paymentRefused with the processing error
 */
export function refuseCard(errorCode: number, { replayed }: { readonly replayed: boolean }): never {
  throw paymentRefused(errorCode, { replayed })
}

/**
 * Refuses a source that is no successful payment of the merchant.
 * @param field the field of the body that has it
 * @throws unknownSource
 */
export function refuseSource(field: string): never {
  throw unknownSource(field)
}

/** Refuses live money whose exchange rate is too old. @throws rateUnavailable */
export function refuseOldRate(): never {
  throw rateUnavailable()
}

/** Refuses a currency that cannot be exchanged. @throws currencyWithoutRate */
export function refuseCurrency(): never {
  throw currencyWithoutRate()
}
