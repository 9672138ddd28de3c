import type { KeyObject } from 'node:crypto'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import { keyDigest } from '../access/fingerprint.ts'
import type { OrderRequest } from '../checkout/open-checkout.ts'
import { getPaidOrder } from '../checkout/payment-repository.ts'
import type { PaymentsConfig } from '../config.ts'
import { challengeUnavailable } from '../errors.ts'
import {
  type CardInput,
  readCardInput,
  readTokenizedCard,
  refusalOf,
  type TokenizedCard,
} from '../payment-links/card-form.ts'
import { isPayable, type LinkProblem, orderOfLink, type PayableLink } from '../payment-links/link.ts'
import type { PaymentPage } from '../payment-links/payment-page.ts'
import {
  type CardPlace,
  decryptReceipt,
  decryptUnderWay,
  encryptReceipt,
  encryptUnderWay,
  fingerprintOfCard,
  type Receipt,
  type UnderWay,
} from '../payment-links/receipt.ts'
import { tokenizeCard } from '../vault/card-token.ts'
import type { CheckoutCiphers } from '../vault/encryption.ts'
import { type PayDeps, pay } from './pay.ts'
import { resolveLink } from './resolve-link.ts'
import { type ChallengeDeps, takeChallenge } from './take-challenge.ts'

type PageDeps = PayDeps &
  ChallengeDeps &
  Parameters<typeof resolveLink>[0] & {
    readonly ciphers: CheckoutCiphers
    readonly now: () => Date
    readonly randomBytes: (size: number) => Buffer
    readonly pepper: KeyObject
    readonly config: Pick<PaymentsConfig, 'checkout'>
  }

/** The submitted card form. */
export interface CardForm extends CardInput {
  /** The card tokens from the script of the page. `undefined` if the browser ran no script. */
  readonly tokens: string | undefined
}

/** The encrypted state of the payment, which the customer's browser keeps. An empty text means that there is no such state. */
export interface KeptPayment {
  /** The card, while the customer is at the page of the bank. */
  readonly card: string
  /** The receipt, after the payment is made. */
  readonly paid: string
}

/** A request to pay on the page of a link. Its source is the card form, or the state that the browser kept. */
export interface PayOnPageInput extends Pick<OrderRequest, 'ip' | 'isSecure'> {
  /** Identifies one rendering of the page, so that a reload or a second click does not pay twice. */
  readonly pageId: string
  readonly locale: string
  readonly query: URLSearchParams
  /** The path of the page to which the customer's bank returns. */
  readonly path: string
  readonly source:
    | { readonly type: 'form'; readonly form: CardForm }
    | { readonly type: 'kept'; readonly kept: KeptPayment }
}

/** A payment on the page of a link that has an amount. */
interface PaidLink {
  readonly input: PayOnPageInput
  readonly link: PayableLink
}

type TriedCard = Pick<PaymentPage, 'expiry' | 'problems' | 'refusal'>

/** The result of reading a form: a card that can be charged, or the problems that the page shows. */
type ReadForm =
  | { readonly verdict: 'read'; readonly underWay: UnderWay }
  | { readonly verdict: 'refused'; readonly tried: TriedCard }

/** The next content of the page. The browser replaces its kept state with the texts of `kept`. */
export type PageAnswer =
  | { readonly verdict: 'no-link'; readonly problem: LinkProblem }
  | { readonly verdict: 'too-late' }
  | { readonly verdict: 'refused'; readonly link: PayableLink; readonly tried: TriedCard }
  | { readonly verdict: 'at-bank'; readonly bankUrl: string; readonly kept: Pick<KeptPayment, 'card'> }
  | {
      readonly verdict: 'paid'
      readonly link: PayableLink
      readonly receipt: Omit<Receipt, 'paid'>
      readonly kept: KeptPayment | undefined
    }

/**
 * Pays on the page of a link, or continues a payment after the customer was at the bank (reference: Payment page).
 * @throws conflict if another request is making the payment, rateLimited if too many cards from the address were refused, and
 * rateUnavailable if the exchange rate is too old. These are the errors of `pay` and `takeChallenge` that are not about the input
 */
export async function payOnPage(deps: PageDeps, input: PayOnPageInput): Promise<PageAnswer> {
  const judged = await resolveLink(deps, input.query)
  if (judged.verdict === 'problem') return { verdict: 'no-link', problem: judged.problem }
  const { link } = judged
  if (!isPayable(link)) return { verdict: 'too-late' }
  switch (input.source.type) {
    case 'form':
      return payByForm(deps, { input, link }, input.source.form)
    case 'kept':
      return continueKept(deps, { input, link }, input.source.kept)
  }
}

async function payByForm(deps: PageDeps, { input, link }: PaidLink, form: CardForm): Promise<PageAnswer> {
  const read = readForm(deps, form)
  switch (read.verdict) {
    case 'read':
      return continuePayment(deps, { input, link }, read.underWay)
    case 'refused':
      return { verdict: 'refused', link, tried: read.tried }
  }
}

function readForm(deps: PageDeps, { tokens, ...input }: CardForm): ReadForm {
  const { expiry } = input
  if (tokens !== undefined) {
    const card = readTokenizedCard(tokens)
    if (card) return { verdict: 'read', underWay: { card, expiry } }
    return { verdict: 'refused', tried: { expiry, problems: {}, refusal: refusalOf('TOKEN_INVALID') } }
  }
  const written = readCardInput(input, deps.now())
  switch (written.verdict) {
    case 'problem':
      return { verdict: 'refused', tried: { expiry, problems: written.problems, refusal: undefined } }
    case 'read': {
      const number = tokenizeCard(deps, { type: 'pcn', value: written.card.number }).token
      const code = tokenizeCard(deps, { type: 'pcsc', value: written.card.code }).token
      return { verdict: 'read', underWay: { card: { number, code, expiry: written.card.expiry, hints: [] }, expiry } }
    }
  }
}

/** Continues a payment after the bank, or shows the receipt of a finished payment again. */
async function continueKept(deps: PageDeps, { input, link }: PaidLink, kept: KeptPayment): Promise<PageAnswer> {
  const place = placeOf(input, link)
  const underWay = decryptUnderWay(deps.ciphers.frames, kept.card, place)
  if (underWay) return continuePayment(deps, { input, link }, underWay)
  const receipt = decryptReceipt(deps.ciphers.frames, kept.paid, place)
  return receipt ? { verdict: 'paid', link, receipt, kept: undefined } : { verdict: 'too-late' }
}

async function continuePayment(
  deps: PageDeps,
  { input, link }: PaidLink,
  { card, expiry }: UnderWay,
): Promise<PageAnswer> {
  const { pageId, ip, isSecure, locale, path, source } = input
  const { frames } = deps.ciphers
  const place = placeOf(input, link)
  const returnUrl = new URL(`${path}?${link.query}`, deps.config.checkout.posUrl).href
  const answer = await payByLink(deps, { link, card, pageId, ip, isSecure, locale, returnUrl })
  switch (answer.verdict) {
    case 'refused':
      return { verdict: 'refused', link, tried: { expiry, problems: {}, refusal: refusalOf(answer.statusCode) } }
    case 'at-bank': {
      const underWay = { expiry, card: { ...card, hints: [...answer.hints] } }
      return { verdict: 'at-bank', bankUrl: answer.bankUrl, kept: { card: encryptUnderWay(frames, underWay, place) } }
    }
    case 'paid': {
      const { receipt } = answer
      // The card tokens are used up. Without the receipt, a reload could only ask for the card again.
      const kept = source.type === 'kept' ? { card: '', paid: encryptReceipt(frames, receipt, place) } : undefined
      return { verdict: 'paid', link, receipt, kept }
    }
  }
}

function placeOf({ pageId }: PayOnPageInput, { query }: PayableLink): CardPlace {
  return { pageId, query }
}

/** A payment by a link, with the progress of its order. */
interface LinkPayment extends Pick<PayOnPageInput, 'ip' | 'isSecure' | 'pageId' | 'locale'> {
  readonly link: PayableLink
  readonly card: TokenizedCard
  /** The URL to which the customer's bank returns. */
  readonly returnUrl: string
}

/**
 * The result of a payment by a link. `paid`: the payment is made. `refused`: it is refused with a status code. `at-bank`: the
 * customer's bank asks the customer, and the next request must include `hints`.
 */
type LinkPaymentAnswer =
  | { readonly verdict: 'paid'; readonly receipt: Omit<Receipt, 'paid'> }
  | { readonly verdict: 'refused'; readonly statusCode: string }
  | { readonly verdict: 'at-bank'; readonly bankUrl: string; readonly hints: readonly string[] }

const STEPS_MAX = 8

/**
 * Pays for a browser without a script, with the same steps as the script of the page. Without a script the page can show no
 * frames. So this function skips fingerprints and sends the customer to the bank by a redirect (reference: Payment page). If the
 * script has already finished the payment, this function only looks the payment up.
 */
async function payByLink(deps: PageDeps, payment: LinkPayment): Promise<LinkPaymentAnswer> {
  try {
    return await takeSteps(deps, payment)
  } catch (error) {
    // Show the customer only problems of the order. Rethrow other errors.
    if (error instanceof HttpError && error.isOfInput) return { verdict: 'refused', statusCode: error.code }
    throw error
  }
}

async function takeSteps(
  deps: PageDeps,
  { link, card, pageId, returnUrl, locale, ip, isSecure }: LinkPayment,
): Promise<LinkPaymentAnswer> {
  const { number, code, expiry } = card
  const order = { ...orderOfLink(link), card: { number, code, expiry }, returnUrl }
  const key = keyDigest(deps.pepper, pageId)
  const idempotentRequest = {
    method: 'POST',
    path: 'payment-link',
    key,
    fingerprint: fingerprintOfCard(deps, link.query, card),
  }
  const hints = [...card.hints]
  for (let steps = 0; steps < STEPS_MAX; steps++) {
    const request = { order: { ...order, hints }, idempotentRequest, ip, isSecure }
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
    // The form was sent twice, and the other request has taken this step. The next `pay` returns the order's state.
    if (!task) continue
    hints.push(...task.hints)
    // Continue after a fingerprint without waiting for its result, so that `pay` skips it.
    if (step === 'tds-challenge' && task.url !== undefined) return { verdict: 'at-bank', bankUrl: task.url, hints }
  }
  return { verdict: 'refused', statusCode: challengeUnavailable.code }
}

function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof HttpError && error.code === challengeUnavailable.code)) throw error
}

/**
 * Returns the receipt of a payment. Its values come from the transaction and not from the form, because the order may have been
 * paid with another reference or another card.
 */
async function toReceipt(
  { pools }: PayDeps,
  { payee }: PayableLink,
  transactionId: string,
): Promise<Omit<Receipt, 'paid'>> {
  const paid = await getPaidOrder(pools, { merchantKey: payee.key, transactionId })
  return { merchant: payee.name, test: payee.test, ...paid, transactionId }
}
