import { divideHalfEven } from '../money/rounding.model.ts'

/** What an operation costs, in minor units of the merchant's currency. `rate` is the amount charged by the rate. */
export interface Fee {
  readonly flat: bigint
  readonly rate: bigint
}

const WHOLE_BASIS_POINTS = 10_000n

/**
 * The fee of an operation: the model of the SQL function `operation_fee` (reference: Fees). The rate is charged on captures only.
 * @param gross what the operation is worth, in the merchant's currency
 * @param price basis points, and the flat fee of this kind, exchanged already; 0 where the kind has no price
 */
export function operationFee(
  kind: 'capture' | 'refund' | 'dispute',
  gross: bigint,
  price: { readonly rateBasisPoints: bigint; readonly flat: bigint },
): Fee {
  const rate = kind === 'capture' ? divideHalfEven(gross * price.rateBasisPoints, WHOLE_BASIS_POINTS) : 0n
  return { flat: price.flat, rate }
}
