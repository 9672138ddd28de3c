import { hasCardNumber } from '../cards/clear-number.ts'
import type { Order } from '../checkout/payment-body.ts'
import { sharesSite } from '../merchants/site.ts'
import { currencyExponent, isChargeable } from '../money/currencies.ts'
import type { Money } from '../money/minor-units.ts'
import { isHttpUrl, isStorable } from '../requests/fields.ts'
import { type AmountProblem, readValue } from './link-amount.ts'
import type { LinkPayee } from './payee-repository.ts'

/** Why a link leads to no payment. */
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
  /** Undefined when the customer is asked for the amount, because the link has none or a malformed one. */
  readonly money: Money | undefined
  readonly amountProblem: AmountProblem | undefined
  /** For the merchant. */
  readonly reference: string | undefined
  /** For the customer. */
  readonly text: string | undefined
  /** The address to which the customer goes after the payment. */
  readonly redirect: string | undefined
  /** Whether the card may be charged again. */
  readonly recurring: boolean
  readonly query: string
}

/** A link as it was read, or why it leads to no payment. */
export type JudgedLink =
  | { readonly verdict: 'read'; readonly link: PaymentLink }
  | { readonly verdict: 'problem'; readonly problem: LinkProblem }

export type PayableLink = PaymentLink & { readonly money: Money }

/** Whether a link names its amount. For any other link, the customer types it first. */
export function isPayable(link: PaymentLink): link is PayableLink {
  return link.money !== undefined
}

/** The most characters of the query that a form carries. */
export const QUERY_LENGTH_MAX = 8_192
const TEXT_LENGTH_MAX = 255
const REDIRECT_LENGTH_MAX = 2_048

/**
 * Reads the parameters of a link whose merchant was found. The first of repeated parameters counts (reference:
 * Parameters of a link).
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

/** Why no new payment can begin under a link; undefined when one can. A payment that has ended is still shown. */
export function problemBeforePayment({ payee }: PaymentLink): LinkProblem | undefined {
  if (!payee.canPay) return 'unavailable'
  return payee.hasRate ? undefined : 'currency'
}

/** The currency that a link names, whether or not it is listed; undefined when it names none. */
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

/** Anybody can write a link, so the link of a live merchant returns only to the site of that merchant. */
function isRedirect(text: string, { test, website }: LinkPayee): boolean {
  const url = URL.parse(text)
  const isAddress = text.length <= REDIRECT_LENGTH_MAX && isHttpUrl(text) && url?.username === '' && url.password === ''
  return isAddress && (test || sharesSite(text, website))
}

/**
 * Returns the address to which a customer goes after the payment: the redirect of the link, with the transaction added to its
 * query.
 */
export function redirectAfter(redirect: string, transactionId: string): string {
  const [, address = '', fragment = ''] = /^([^#]*)(#.*)?$/s.exec(redirect) ?? []
  return `${address}${separatorAfter(address)}transactionId=${transactionId}${fragment}`
}

/** The separator between an address and one more parameter of its query. */
function separatorAfter(address: string): '' | '&' | '?' {
  if (!address.includes('?')) return '?'
  return /[?&]$/.test(address) ? '' : '&'
}

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
