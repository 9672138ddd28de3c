import { currencyWithoutRate, paymentRefused, rateUnavailable, unknownSource } from '../errors.ts'

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
