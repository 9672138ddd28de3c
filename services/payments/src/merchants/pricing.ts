import { z } from 'zod'
import { formatMoney, type Money } from '../money/minor-units.ts'

/** The flat fees, and the event that each fee is charged for. The SQL function `flat_fee` computes them (reference: Fees). */
export const FLAT_FEES = { flat: 'each capture', refund: 'each refund', dispute: 'each lost dispute' } as const

/** The fees of a merchant. `rate` is in basis points of each capture. The others are flat fees. */
export interface Pricing {
  readonly rate: number
  readonly flat: Money
  /** The fee of a refund. If it is absent, refunds are free. */
  readonly refund?: Money
  readonly dispute: Money
}

export const NO_FEES: Pricing = {
  rate: 0,
  flat: { currency: 'EUR', amount: 0 },
  dispute: { currency: 'EUR', amount: 0 },
}

const MoneyView = z.object({ currency: z.string(), amount: z.int() })

/** The JSON of the fees of a merchant (reference: Merchant object). */
export const PricingView = z.object({ rate: z.int(), flat: MoneyView, dispute: MoneyView })

export function viewPricing({ rate, flat, dispute }: Pricing): z.infer<typeof PricingView> {
  return {
    rate,
    flat: { currency: flat.currency, amount: flat.amount },
    dispute: { currency: dispute.currency, amount: dispute.amount },
  }
}

/** Returns text like `1.35 % + EUR 0.25 a capture, EUR 25.00 a lost dispute`. */
export function describePricing({ rate, flat, dispute }: Pricing): string {
  const text = ({ currency, amount }: Money) => formatMoney(currency, BigInt(amount))
  return `${rate / 100} % + ${text(flat)} a capture, ${text(dispute)} a lost dispute`
}
