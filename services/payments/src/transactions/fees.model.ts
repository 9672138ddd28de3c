import { divideHalfEven } from '../money/rounding.model.ts'

/** The fee of an operation, in minor units of the merchant's currency: its fixed part, and its share of the worth. */
export interface Fee {
  readonly flat: bigint
  readonly rate: bigint
}

const WHOLE_BASIS_POINTS = 10_000n

/**
 * The fee of an operation: the model of the SQL function `operation_fee` (reference: Fees). Only captures have a share.
 * @param gross the worth of the operation, in minor units of the merchant's currency
 * @param price the share in basis points, and the flat fee, already exchanged; 0 for a kind without a price
 */
export function operationFee(
  kind: 'capture' | 'refund' | 'dispute',
  gross: bigint,
  price: { readonly rateBasisPoints: bigint; readonly flat: bigint },
): Fee {
  const rate = kind === 'capture' ? divideHalfEven(gross * price.rateBasisPoints, WHOLE_BASIS_POINTS) : 0n
  return { flat: price.flat, rate }
}
