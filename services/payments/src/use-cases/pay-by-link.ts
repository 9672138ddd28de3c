import { HttpError } from '@trestle/common/errors/define-error.ts'
import { fingerprintOf } from '../access/fingerprint.ts'
import type { OrderRequest } from '../checkout/open-checkout.ts'
import { getPaidOrder } from '../checkout/payment-repository.ts'
import { challengeUnavailable } from '../errors.ts'
import type { TokenisedCard } from '../payment-links/card-form.ts'
import type { PayableLink } from '../payment-links/link.ts'
import { orderOfLink } from '../payment-links/link-order.ts'
import type { Receipt } from '../payment-links/receipt.ts'
import { type PayDeps, pay } from './pay.ts'
import { type ChallengeDeps, takeChallenge } from './take-challenge.ts'

/** A payment from the page of a link, as far as it has come. */
export interface LinkPayment extends Pick<OrderRequest, 'address' | 'isSecure'> {
  readonly link: PayableLink
  readonly card: TokenisedCard
  /** Names the rendering of the page: sent again, by a reload or a second click, it pays no second time. */
  readonly pageId: string
  /** Where the cardholder's bank leads back to. */
  readonly returnUrl: string
}

/** It is paid; refused, with a status code; or the cardholder's bank asks, and `hints` go with what comes after. */
export type LinkPaymentAnswer =
  | Omit<Receipt, 'paid'>
  | { readonly statusCode: string }
  | { readonly bankUrl: string; readonly hints: readonly string[] }

const STEPS_MAX = 8

/**
 * Pays for browsers without script, as the script of the page does. No frame can be shown, so fingerprints are passed over and the
 * bank is met by a redirect (reference: Payment page). A payment that the script has finished is only told.
 */
export async function payByLink(deps: PayDeps & ChallengeDeps, payment: LinkPayment): Promise<LinkPaymentAnswer> {
  try {
    return await walk(deps, payment)
  } catch (error) {
    // What is wrong with an order is something to tell the customer; what else goes wrong is not.
    if (error instanceof HttpError && error.status === 400) return { statusCode: error.code }
    throw error
  }
}

async function walk(
  deps: PayDeps & ChallengeDeps,
  { link, card, pageId, returnUrl, address, isSecure }: LinkPayment,
): Promise<LinkPaymentAnswer> {
  const { number, code, expiry } = card
  const order = { ...orderOfLink(link), card: { number, code, expiry }, returnUrl }
  const repeat = { method: 'POST', path: 'payment-link', key: pageId, fingerprint: fingerprintOf(link.query) }
  const hints = [...card.hints]
  for (let steps = 0; steps < STEPS_MAX; steps++) {
    const request = { order: { ...order, hints }, repeat, address, isSecure }
    const answer = await pay(deps, request)
    if ('transactionId' in answer) return toReceipt(deps, link, answer.transactionId)
    const step = answer.challenges[0]?.name
    if (step === undefined) break
    const way = step === 'tds-challenge' ? 'redirect' : 'iframe'
    const task = await takeChallenge(deps, { ...request, step, way, origin: undefined }).catch(passUnavailable)
    // The same form came twice, and the other has gone on meanwhile. What has become of the order is told next.
    if (!task) continue
    hints.push(...task.hints)
    // A fingerprint that was taken and brings no hint is passed over.
    if (step === 'tds-challenge' && task.url !== undefined) return { bankUrl: task.url, hints }
  }
  throw challengeUnavailable()
}

function passUnavailable(error: unknown): undefined {
  if (!(error instanceof HttpError && error.code === challengeUnavailable.code)) throw error
}

/** Tells of the transaction, not of the form: what has ended may have been paid under another reference, or by another card. */
async function toReceipt(
  { lanes }: PayDeps,
  { payee }: PayableLink,
  transactionId: string,
): Promise<Omit<Receipt, 'paid'>> {
  const paid = await getPaidOrder(lanes, { merchantKey: payee.key, transactionId })
  return { merchant: payee.name, test: payee.test, ...paid, transactionId }
}
