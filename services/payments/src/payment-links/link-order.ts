import type { Order } from '../checkout/payment-body.ts'
import { currencyExponent } from '../money/currencies.ts'
import type { PayableLink } from './link.ts'

/** An order of the checkout without its card. */
type LinkOrder = Pick<Order, 'integration' | 'test' | 'amount' | 'custom' | 'unplanned' | 'redirect'>

/**
 * Returns the order of a link without its card. The script of the page adds the card and sends it (reference: Payment page).
 */
export function orderOfLink({
  payee,
  money: { currency, amount },
  reference,
  text,
  redirect,
  recurring,
}: PayableLink): LinkOrder {
  const custom = { ...(reference === undefined ? {} : { reference }), ...(text === undefined ? {} : { text }) }
  return {
    integration: { key: payee.key },
    ...(payee.test ? { test: {} } : {}),
    amount: { currency, exponent: currencyExponent(currency) ?? 0, value: amount },
    ...(Object.keys(custom).length === 0 ? {} : { custom }),
    ...(recurring ? { unplanned: { merchant: true, customer: true } } : {}),
    ...(redirect === undefined ? {} : { redirect }),
  }
}
