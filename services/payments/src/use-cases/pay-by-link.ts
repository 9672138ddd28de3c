import { HttpError } from '@trestle/common/errors/define-error.ts'
import { fingerprintOf } from '../access/fingerprint.ts'
import type { OrderRequest } from '../checkout/open-checkout.ts'
import { getPaidOrder } from '../checkout/payment-repository.ts'
import { challengeUnavailable } from '../errors.ts'
import type { TokenizedCard } from '../payment-links/card-form.ts'
import type { PayableLink } from '../payment-links/link.ts'
import { orderOfLink } from '../payment-links/link-order.ts'
import type { Receipt } from '../payment-links/receipt.ts'
import { type PayDeps, pay } from './pay.ts'
import { type ChallengeDeps, takeChallenge } from './take-challenge.ts'

/** The state of a payment on the page of a link. */
export interface LinkPayment extends Pick<OrderRequest, 'ip' | 'isSecure'> {
  readonly link: PayableLink
  readonly card: TokenizedCard
  /** Names the rendering of the page, so that a reload or a second click does not pay twice. */
  readonly pageId: string
  /** The URL to which the customer's bank returns. */
  readonly returnUrl: string
  /** The locale of the page. */
  readonly locale: string
}

/**
 * The payment is made; it is refused with a status code; or the customer's bank asks, and the next request needs
 * `hints`.
 */
export type LinkPaymentAnswer =
  | { readonly verdict: 'paid'; readonly receipt: Omit<Receipt, 'paid'> }
  | { readonly verdict: 'refused'; readonly statusCode: string }
  | { readonly verdict: 'at-bank'; readonly bankUrl: string; readonly hints: readonly string[] }

const STEPS_MAX = 8

/**
 * Pays for browsers without a script, as the script of the page does. It can show no frame, so it skips fingerprints
 * and meets the bank by a redirect (reference: Payment page). It only looks up a payment that the script has finished.
 * @throws conflict while another request makes the payment, rateLimited when too many cards of the address were refused, and
 * rateUnavailable when the exchange rate is too old: the errors of `pay` and `takeChallenge` with another status than 400
 */
export async function payByLink(deps: PayDeps & ChallengeDeps, payment: LinkPayment): Promise<LinkPaymentAnswer> {
  try {
    return await takeSteps(deps, payment)
  } catch (error) {
    // The customer is told what is wrong with an order, and nothing about other errors.
    if (error instanceof HttpError && error.status === 400) return { verdict: 'refused', statusCode: error.code }
    throw error
  }
}

async function takeSteps(
  deps: PayDeps & ChallengeDeps,
  { link, card, pageId, returnUrl, locale, ip, isSecure }: LinkPayment,
): Promise<LinkPaymentAnswer> {
  const { number, code, expiry } = card
  const order = { ...orderOfLink(link), card: { number, code, expiry }, returnUrl }
  const repeat = { method: 'POST', path: 'payment-link', key: pageId, fingerprint: fingerprintOf(link.query) }
  const hints = [...card.hints]
  for (let steps = 0; steps < STEPS_MAX; steps++) {
    const request = { order: { ...order, hints }, repeat, ip, isSecure }
    const answer = await pay(deps, request)
    if (answer.verdict === 'paid') {
      return { verdict: 'paid', receipt: await toReceipt(deps, link, answer.transactionId) }
    }
    const step = answer.challenges[0]?.name
    if (step === undefined) break
    const way = step === 'tds-challenge' ? 'redirect' : 'iframe'
    const task = await takeChallenge(deps, { ...request, step, way, origin: undefined, locale }).catch(
      ignoreUnavailable,
    )
    // The same form was sent twice, and the other request has continued. The next step finds what became of the order.
    if (!task) continue
    hints.push(...task.hints)
    // A fingerprint that was begun and has no hint is skipped.
    if (step === 'tds-challenge' && task.url !== undefined) return { verdict: 'at-bank', bankUrl: task.url, hints }
  }
  return { verdict: 'refused', statusCode: challengeUnavailable.code }
}

function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof HttpError && error.code === challengeUnavailable.code)) throw error
}

/**
 * Takes its facts from the transaction and not from the form: the payment may have ended with another reference or
 * another card.
 */
async function toReceipt(
  { lanes }: PayDeps,
  { payee }: PayableLink,
  transactionId: string,
): Promise<Omit<Receipt, 'paid'>> {
  const paid = await getPaidOrder(lanes, { merchantKey: payee.key, transactionId })
  return { merchant: payee.name, test: payee.test, ...paid, transactionId }
}
