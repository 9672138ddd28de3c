import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { readCardInput, readTokenisedCard } from '../../payment-links/card-form.ts'
import { isPayable, type PayableLink, QUERY_LENGTH_MAX } from '../../payment-links/link.ts'
import { returnPage, troublePage } from '../../payment-links/link-pages.ts'
import { openReceipt, type Receipt, sealReceipt } from '../../payment-links/receipt.ts'
import { refusalOf } from '../../payment-links/refusal.ts'
import { openUnderWay, sealUnderWay, type UnderWay } from '../../payment-links/under-way.ts'
import {
  findVisitedLink,
  linkQueryOf,
  type PageVisit,
  sendPage,
  sendPaymentPage,
  visitOf,
} from '../../plugins/link-pages.ts'
import { refuseBeyond } from '../../plugins/refuse-beyond.ts'
import { payByLink } from '../../use-cases/pay-by-link.ts'
import { tokenizeCard } from '../../use-cases/tokenize-card.ts'

const COOKIE_SECONDS = 1_800
const PAGE_ID = /^[\w-]{22}$/

const PageParams = z.object({ pageId: z.string() })
const PayBody = z.object({
  link: z.string().max(QUERY_LENGTH_MAX),
  page: z.string().regex(PAGE_ID),
  number: z.string().optional(),
  expiry: z.string().optional(),
  code: z.string().optional(),
  /** What the script of the page submits beside the fields. */
  card: z.string().optional(),
})

/**
 * Takes the card form: with tokens from the script, or with card data from browsers without it (reference: Payment
 * page).
 */
export const posPayRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const refuse = refuseBeyond(app, 'address', deps.limits.checkouts)

  app.post('/pos/pay', { schema: { hide: true, body: PayBody } }, async (request, reply) => {
    await refuse(request.ip)
    if (request.flaw) throw request.flaw.error
    const { link: given, page: pageId, number = '', expiry = '', code = '', card: tokens } = request.body
    const query = new URLSearchParams(given)
    const visit = visitOf(request, reply, query)
    const link = await resolvePayableLink(visit, query)
    if (!link) return reply
    if (tokens !== undefined) {
      const card = readTokenisedCard(tokens)
      if (card) return continuePayment(visit, { link, pageId }, { card, expiry })
      return sendPaymentPage(visit, link, { expiry, flaws: {}, refusal: refusalOf('TOKEN_INVALID') })
    }
    const written = readCardInput({ number, expiry, code }, deps.now())
    if ('flaws' in written) return sendPaymentPage(visit, link, { expiry, flaws: written.flaws, refusal: undefined })
    const tokenised = {
      number: tokenizeCard(deps, { type: 'pcn', value: written.number }).token,
      code: tokenizeCard(deps, { type: 'pcsc', value: written.code }).token,
    }
    return continuePayment(
      visit,
      { link, pageId },
      { card: { ...tokenised, expiry: written.expiry, hints: [] }, expiry },
    )
  })

  const comeBack = async (request: FastifyRequest, reply: FastifyReply, pageId: string) => {
    await refuse(request.ip)
    const query = linkQueryOf(request)
    const visit = visitOf(request, reply)
    const link = await resolvePayableLink(visit, query)
    if (!link) return reply
    const { cookie = '' } = request.headers
    const place = { pageId, query: link.query }
    const underWay = openUnderWay(deps.seals.frames, cookieOf(cookie, 'card'), place)
    if (underWay) return continuePayment(visit, { link, pageId }, underWay)
    const paid = openReceipt(deps.seals.frames, cookieOf(cookie, 'paid'), place)
    return paid ? showPaid(visit, link, paid) : showTooLate(visit, query)
  }
  // The customer's bank returns to this URL.
  app.get('/pos/pay/:pageId', { schema: { hide: true, params: PageParams } }, (request, reply) =>
    comeBack(request, reply, request.params.pageId),
  )
  // A browser opened the URL of a form again.
  app.get('/pos/pay', { schema: { hide: true } }, (request, reply) => comeBack(request, reply, ''))
}

async function resolvePayableLink(visit: PageVisit, query: URLSearchParams): Promise<PayableLink | undefined> {
  const link = await findVisitedLink(visit, query)
  if (!link || isPayable(link)) return link
  showTooLate(visit, query)
  return undefined
}

function showTooLate(visit: PageVisit, query: URLSearchParams): FastifyReply {
  const again = `${visit.request.server.deps.posUrl}?${query}`
  return sendPage(visit, 400, troublePage('tooLong', again, visit.locale))
}

/** The page that sent the card. */
interface SentPage {
  readonly link: PayableLink
  readonly pageId: string
}

async function continuePayment(
  visit: PageVisit,
  { link, pageId }: SentPage,
  underWay: UnderWay,
): Promise<FastifyReply> {
  const { request, reply } = visit
  const { deps } = request.server
  const { card, expiry } = underWay
  const path = `/pos/pay/${pageId}`
  const place = { pageId, query: link.query }
  const answer = await payByLink(deps, {
    link,
    card,
    pageId,
    address: request.ip,
    isSecure: request.protocol === 'https',
    returnUrl: new URL(`${path}?${link.query}`, deps.posUrl).href,
  })
  if ('statusCode' in answer) {
    return sendPaymentPage(visit, link, { expiry, flaws: {}, refusal: refusalOf(answer.statusCode) })
  }
  if ('bankUrl' in answer) {
    const kept = { expiry, card: { ...card, hints: [...answer.hints] } }
    setCookies(visit, path, { card: sealUnderWay(deps.seals.frames, kept, place) })
    return reply.redirect(answer.bankUrl, 303)
  }
  // The tokens are spent: without the receipt, a reload could only ask for the card again.
  if (request.method === 'GET')
    setCookies(visit, path, { card: '', paid: sealReceipt(deps.seals.frames, answer, place) })
  return showPaid(visit, link, answer)
}

function showPaid(visit: PageVisit, { redirect }: PayableLink, receipt: Omit<Receipt, 'paid'>): FastifyReply {
  const { request, reply, locale } = visit
  if (redirect !== undefined) return sendPage(visit, 200, returnPage(redirect, receipt, locale))
  const { seals } = request.server.deps
  const shown = new URLSearchParams({ receipt: sealReceipt(seals.frames, receipt), locale: locale.tag })
  return reply.redirect(`/pos/receipt?${shown}`, 303)
}

/**
 * The customer's browser keeps the tokens and hints while the customer is at the bank, so that no URL and no database
 * row contains them. The cookie has the path of its page, so payments in two windows do not meet. An empty text deletes
 * it.
 */
function setCookies({ request, reply }: PageVisit, path: string, cookies: Readonly<Record<string, string>>): void {
  const attributes = [`Path=${path}`, 'HttpOnly', 'SameSite=Lax', ...(request.protocol === 'https' ? ['Secure'] : [])]
  const headers = Object.entries(cookies).map(([name, sealed]) =>
    [`${name}=${sealed}`, ...attributes, `Max-Age=${sealed === '' ? 0 : COOKIE_SECONDS}`].join('; '),
  )
  reply.header('set-cookie', headers)
}

function cookieOf(header: string, name: string): string {
  return new RegExp(`(?:^|;\\s*)${name}=([^;]+)`).exec(header)?.[1] ?? ''
}
