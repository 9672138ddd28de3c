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
  readonly source:
    | { readonly type: 'form'; readonly form: CardForm }
    | { readonly type: 'kept'; readonly kept: KeptPayment }
}

/** A payment on the page of a link that has an amount. */
interface PaidLink {
  readonly payment: PagePayment
  readonly link: PayableLink
}

type TriedCard = Pick<PaymentPage, 'expiry' | 'problems' | 'refusal'>

/** A form whose card can be charged, or what the page says about it. */
type ReadForm =
  | { readonly verdict: 'read'; readonly underWay: UnderWay }
  | { readonly verdict: 'refused'; readonly tried: TriedCard }

/** What the page shows next. The browser keeps the texts in `keep`; an empty one deletes what it kept. */
export type PageAnswer =
  | { readonly verdict: 'no-link'; readonly problem: LinkProblem }
  | { readonly verdict: 'too-late' }
  | { readonly verdict: 'refused'; readonly link: PayableLink; readonly tried: TriedCard }
  | { readonly verdict: 'at-bank'; readonly bankUrl: string; readonly keep: Pick<KeptPayment, 'card'> }
  | {
      readonly verdict: 'paid'
      readonly link: PayableLink
      readonly receipt: Omit<Receipt, 'paid'>
      readonly keep: KeptPayment | undefined
    }

/**
 * Pays on the page of a link, or continues a payment whose customer was at the bank (reference: Payment page).
 * @throws conflict, rateLimited and rateUnavailable as `payByLink` throws them
 */
export async function payOnPage(deps: PageDeps, payment: PagePayment): Promise<PageAnswer> {
  const judged = await resolveLink(deps, payment.query)
  if (judged.verdict === 'problem') return { verdict: 'no-link', problem: judged.problem }
  const { link } = judged
  if (!isPayable(link)) return { verdict: 'too-late' }
  switch (payment.source.type) {
    case 'form':
      return payByForm(deps, { payment, link }, payment.source.form)
    case 'kept':
      return continueKept(deps, { payment, link }, payment.source.kept)
  }
}

async function payByForm(deps: PageDeps, { payment, link }: PaidLink, form: CardForm): Promise<PageAnswer> {
  const read = readForm(deps, form)
  switch (read.verdict) {
    case 'read':
      return continuePayment(deps, { payment, link }, read.underWay)
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

/** Continues after the bank, or shows the receipt again of a payment that has ended. */
async function continueKept(deps: PageDeps, { payment, link }: PaidLink, kept: KeptPayment): Promise<PageAnswer> {
  const place = placeOf(payment, link)
  const underWay = openUnderWay(deps.seals.frames, kept.card, place)
  if (underWay) return continuePayment(deps, { payment, link }, underWay)
  const receipt = openReceipt(deps.seals.frames, kept.paid, place)
  return receipt ? { verdict: 'paid', link, receipt, keep: undefined } : { verdict: 'too-late' }
}

async function continuePayment(
  deps: PageDeps,
  { payment, link }: PaidLink,
  { card, expiry }: UnderWay,
): Promise<PageAnswer> {
  const { pageId, ip, isSecure, locale, path, source } = payment
  const { frames } = deps.seals
  const place = placeOf(payment, link)
  const returnUrl = new URL(`${path}?${link.query}`, deps.posUrl).href
  const answer = await payByLink(deps, { link, card, pageId, ip, isSecure, locale, returnUrl })
  switch (answer.verdict) {
    case 'refused':
      return { verdict: 'refused', link, tried: { expiry, problems: {}, refusal: refusalOf(answer.statusCode) } }
    case 'at-bank': {
      const underWay = { expiry, card: { ...card, hints: [...answer.hints] } }
      return { verdict: 'at-bank', bankUrl: answer.bankUrl, keep: { card: sealUnderWay(frames, underWay, place) } }
    }
    case 'paid': {
      const { receipt } = answer
      // The tokens are spent: without the receipt, a reload could only ask for the card again.
      const keep = source.type === 'kept' ? { card: '', paid: sealReceipt(frames, receipt, place) } : undefined
      return { verdict: 'paid', link, receipt, keep }
    }
  }
}

function placeOf({ pageId }: PagePayment, { query }: PayableLink): CardPlace {
  return { pageId, query }
}
