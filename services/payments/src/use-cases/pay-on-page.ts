import type { PaymentsDeps } from '../deps.ts'
import { type CardInput, readCardInput, readTokenizedCard } from '../payment-links/card-form.ts'
import { isPayable, type LinkProblem, type PayableLink } from '../payment-links/link.ts'
import type { PaymentPage } from '../payment-links/payment-page.ts'
import { openReceipt, type Receipt, sealReceipt } from '../payment-links/receipt.ts'
import { refusalOf } from '../payment-links/refusal.ts'
import { type CardPlace, openUnderWay, sealUnderWay, type UnderWay } from '../payment-links/under-way.ts'
import { type LinkPayment, payByLink } from './pay-by-link.ts'
import { resolveLink } from './resolve-link.ts'
import { tokenizeCard } from './tokenize-card.ts'

type PageDeps = Parameters<typeof payByLink>[0] &
  Parameters<typeof resolveLink>[0] &
  Pick<PaymentsDeps, 'posUrl' | 'seals' | 'now' | 'randomBytes'>

/** The card form as it was submitted. */
export interface CardForm extends CardInput {
  /** The tokens from the script of the page. Undefined when the browser ran no script. */
  readonly tokens: string | undefined
}

/** What the customer's browser kept of the payment, sealed. An empty text stands for nothing. */
export interface KeptPayment {
  readonly card: string
  readonly paid: string
}

/** A request to pay on the page of a link: with the form, or later with what the browser kept. */
export interface PagePayment extends Pick<LinkPayment, 'ip' | 'isSecure' | 'pageId' | 'locale'> {
  readonly query: URLSearchParams
  /** The path to which the customer's bank returns. */
  readonly path: string
  readonly source: { readonly form: CardForm } | { readonly kept: KeptPayment }
}

type TriedCard = Pick<PaymentPage, 'expiry' | 'problems' | 'refusal'>

/** What the page shows next. The browser keeps the texts in `keep`; an empty one deletes what it kept. */
export type PageAnswer =
  | { readonly outcome: 'no-link'; readonly problem: LinkProblem }
  | { readonly outcome: 'too-late' }
  | { readonly outcome: 'refused'; readonly link: PayableLink; readonly tried: TriedCard }
  | { readonly outcome: 'at-bank'; readonly bankUrl: string; readonly keep: Pick<KeptPayment, 'card'> }
  | {
      readonly outcome: 'paid'
      readonly link: PayableLink
      readonly receipt: Omit<Receipt, 'paid'>
      readonly keep: KeptPayment | undefined
    }

/**
 * Pays on the page of a link, or continues a payment whose customer was at the bank (reference: Payment page).
 * @throws conflict, rateLimited and rateUnavailable as `payByLink` throws them
 */
export async function payOnPage(deps: PageDeps, payment: PagePayment): Promise<PageAnswer> {
  const link = await resolveLink(deps, payment.query)
  if (typeof link === 'string') return { outcome: 'no-link', problem: link }
  if (!isPayable(link)) return { outcome: 'too-late' }
  if ('form' in payment.source) {
    const read = readForm(deps, payment.source.form)
    return 'card' in read ? continuePayment(deps, { payment, link }, read) : { outcome: 'refused', link, tried: read }
  }
  const { kept } = payment.source
  const place = placeOf(payment, link)
  const underWay = openUnderWay(deps.seals.frames, kept.card, place)
  if (underWay) return continuePayment(deps, { payment, link }, underWay)
  const receipt = openReceipt(deps.seals.frames, kept.paid, place)
  return receipt ? { outcome: 'paid', link, receipt, keep: undefined } : { outcome: 'too-late' }
}

function readForm(deps: PageDeps, { tokens, ...input }: CardForm): UnderWay | TriedCard {
  const { expiry } = input
  if (tokens !== undefined) {
    const card = readTokenizedCard(tokens)
    return card ? { card, expiry } : { expiry, problems: {}, refusal: refusalOf('TOKEN_INVALID') }
  }
  const written = readCardInput(input, deps.now())
  if ('problems' in written) return { expiry, problems: written.problems, refusal: undefined }
  const number = tokenizeCard(deps, { type: 'pcn', value: written.number }).token
  const code = tokenizeCard(deps, { type: 'pcsc', value: written.code }).token
  return { card: { number, code, expiry: written.expiry, hints: [] }, expiry }
}

async function continuePayment(
  deps: PageDeps,
  { payment, link }: { readonly payment: PagePayment; readonly link: PayableLink },
  { card, expiry }: UnderWay,
): Promise<PageAnswer> {
  const { pageId, ip, isSecure, locale, path, source } = payment
  const { frames } = deps.seals
  const place = placeOf(payment, link)
  const returnUrl = new URL(`${path}?${link.query}`, deps.posUrl).href
  const answer = await payByLink(deps, { link, card, pageId, ip, isSecure, locale, returnUrl })
  switch (answer.verdict) {
    case 'refused':
      return { outcome: 'refused', link, tried: { expiry, problems: {}, refusal: refusalOf(answer.statusCode) } }
    case 'at-bank': {
      const underWay = { expiry, card: { ...card, hints: [...answer.hints] } }
      return { outcome: 'at-bank', bankUrl: answer.bankUrl, keep: { card: sealUnderWay(frames, underWay, place) } }
    }
    case 'paid': {
      const { receipt } = answer
      // The tokens are spent: without the receipt, a reload could only ask for the card again.
      const keep = 'kept' in source ? { card: '', paid: sealReceipt(frames, receipt, place) } : undefined
      return { outcome: 'paid', link, receipt, keep }
    }
  }
}

function placeOf({ pageId }: PagePayment, { query }: PayableLink): CardPlace {
  return { pageId, query }
}
