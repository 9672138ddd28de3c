import { hasCardNumber } from '../cards/clear-number.ts'
import type { Order } from '../checkout/payment-body.ts'
import { sharesSite } from '../merchants/site.ts'
import { currencyExponent, isChargeable } from '../money/currencies.ts'
import type { Money } from '../money/minor-units.ts'
import { isHttpUrl, isStorable } from '../requests/fields.ts'
import { type AmountProblem, readValue } from './link-amount.ts'
import type { LinkPayee } from './payee-repository.ts'

/** The reason why a link cannot be paid. */
export type LinkProblem =
  | 'key-missing'
  | 'key-unknown'
  | 'test-only'
  | 'live-only'
  | 'currency'
  | 'redirect'
  | 'reference'
  | 'text'
  | 'card-number'
  | 'unavailable'

/** A link that can be paid. */
export interface PaymentLink {
  readonly payee: LinkPayee
  readonly currency: string
  /** `undefined` if the link has no amount or a malformed one. The page then asks the customer for the amount. */
  readonly money: Money | undefined
  readonly amountProblem: AmountProblem | undefined
  /** The merchant's reference of the payment. */
  readonly reference: string | undefined
  /** The text about the payment, shown to the customer. */
  readonly text: string | undefined
  /** The address to which the customer returns after the payment. */
  readonly redirect: string | undefined
  /** Whether the merchant may charge the card again. */
  readonly recurring: boolean
  readonly query: string
}

/** A valid link, or the reason why it cannot be paid. */
export type JudgedLink =
  | { readonly verdict: 'read'; readonly link: PaymentLink }
  | { readonly verdict: 'problem'; readonly problem: LinkProblem }

export type PayableLink = PaymentLink & { readonly money: Money }

/** Returns whether a link names its amount. Otherwise the customer types the amount first. */
export function isPayable(link: PaymentLink): link is PayableLink {
  return link.money !== undefined
}

/** The maximum length of the query that a form carries, in characters. */
export const QUERY_LENGTH_MAX = 8_192
const TEXT_LENGTH_MAX = 255
const REDIRECT_LENGTH_MAX = 2_048

/**
 * Reads the parameters of a link for its merchant. If a parameter is repeated, the first one counts (reference: Parameters of a
 * link).
 */
export function judgeLink(query: URLSearchParams, payee: LinkPayee): JudgedLink {
  const { test, value, reference, text, redirect, recurring } = firstOf(query)
  if (payee.test !== (test === '1')) return problemOf(payee.test ? 'test-only' : 'live-only')
  const currency = currencyOf(query) ?? payee.currency
  if (!isChargeable(currency)) return problemOf('currency')
  if (redirect !== undefined && !isRedirect(redirect, payee)) return problemOf('redirect')
  if (!isShortText(reference)) return problemOf('reference')
  if (!isShortText(text)) return problemOf('text')
  if ([reference, text, redirect].some((value) => hasCardNumber(value ?? ''))) return problemOf('card-number')
  const read = value === undefined ? undefined : readValue(value, currency)
  return {
    verdict: 'read',
    link: {
      payee,
      currency,
      reference,
      text,
      redirect,
      recurring: recurring === 'y',
      query: query.toString(),
      money: read?.verdict === 'read' ? { currency, amount: read.amount } : undefined,
      amountProblem: read?.verdict === 'problem' ? read.problem : undefined,
    },
  }
}

function problemOf(problem: LinkProblem): JudgedLink {
  return { verdict: 'problem', problem }
}

/** The reason why no new payment can begin under a link, if any. A payment that has ended is still shown. */
export function problemBeforePayment({ payee }: PaymentLink): LinkProblem | undefined {
  if (!payee.canPay) return 'unavailable'
  return payee.hasRate ? undefined : 'currency'
}

/** Returns the currency that a link names, whether or not it is listed. Returns `undefined` if the link names none. */
export function currencyOf(query: URLSearchParams): string | undefined {
  return query.get('currency')?.trim() || undefined
}

function firstOf(query: URLSearchParams): Readonly<Record<string, string | undefined>> {
  const names = ['test', 'value', 'reference', 'text', 'redirect', 'recurring']
  return Object.fromEntries(names.map((name) => [name, query.get(name) || undefined]))
}

function isShortText(text: string | undefined): boolean {
  return text === undefined || (text.length <= TEXT_LENGTH_MAX && isStorable(text))
}

/** Anybody can write a link. A link of a live merchant may therefore redirect only to the site of that merchant. */
function isRedirect(text: string, { test, website }: LinkPayee): boolean {
  const url = URL.parse(text)
  const isAddress = text.length <= REDIRECT_LENGTH_MAX && isHttpUrl(text) && url?.username === '' && url.password === ''
  return isAddress && (test || sharesSite(text, website))
}

/** Returns the redirect of the link with the transaction id added to its query. The customer goes there after the payment. */
export function redirectAfter(redirect: string, transactionId: string): string {
  const [, address = '', fragment = ''] = /^([^#]*)(#.*)?$/s.exec(redirect) ?? []
  return `${address}${separatorAfter(address)}transactionId=${transactionId}${fragment}`
}

/** Returns the separator that goes between an address and a new query parameter. */
function separatorAfter(address: string): '' | '&' | '?' {
  if (!address.includes('?')) return '?'
  return /[?&]$/.test(address) ? '' : '&'
}

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
