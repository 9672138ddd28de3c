import { processingError, processingErrorOf } from '../src/transactions/processing-error.ts'

/** A refusal of the checkout: its status and complete body. */
export type CheckoutRefusal = readonly [status: number, body: object]

/** The refusal of an order. `details` are further fields of the body. */
export const refusedOrder = (code: string, message: string, details: object = {}): CheckoutRefusal => [
  400,
  { code, message, ...details },
]

/** The refusal of a token that is unknown, expired or used. */
export const refusedToken = (path: string): CheckoutRefusal =>
  refusedOrder('TOKEN_INVALID', 'The token is unknown, too old or spent', { path })

/** The refusal of a card. */
export const refusedCard = (code: string, details: object = {}): CheckoutRefusal =>
  refusedOrder(code, processingError(processingErrorOf(code)).message, details)

/** Further fields if a card is refused because of its scheme. */
export const SUPPORTED = { supported: ['visa', 'mastercard'] } as const

/** The refusal of an order for a merchant that accepts no payments. */
export const REFUSED_MERCHANT = refusedOrder('PAYMENT_INTEGRATION_DISABLED', 'The merchant takes no payments')
