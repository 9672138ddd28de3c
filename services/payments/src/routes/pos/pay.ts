import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { readCardInput, readTokenisedCard } from '../../payment-links/card-form.ts'
import { isPayable, type PayableLink } from '../../payment-links/link.ts'
import { returnPage, troublePage } from '../../payment-links/link-pages.ts'
import { sealReceipt } from '../../payment-links/receipt.ts'
import { refusalOf } from '../../payment-links/refusal.ts'
import { openUnderWay, sealUnderWay, type UnderWay } from '../../payment-links/under-way.ts'
import {
  linkQueryOf,
  openVisitedLink,
  type PageVisit,
  sendPage,
  sendPaymentPage,
  visitOf,
} from '../../plugins/link-pages.ts'
import { refuseBeyond } from '../../plugins/refuse-beyond.ts'
import { payByLink } from '../../use-cases/pay-by-link.ts'
import { tokenizeCard } from '../../use-cases/tokenize-card.ts'

const QUERY_LENGTH_MAX = 8_192
const COOKIE_SECONDS = 1_800

const PayBody = z.object({
  link: z.string().max(QUERY_LENGTH_MAX),
  page: z.string().regex(/^[\w-]{22}$/),
  number: z.string().optional(),
  expiry: z.string().optional(),
  code: z.string().optional(),
  /** What the script has made of the fields before. */
  card: z.string().optional(),
})

/** Where the card form of a link is sent: as it is by browsers without script, with tokens by others. @see contract 18 */
export const posPayRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const refuse = refuseBeyond(app, 'address', deps.limits.checkouts)

  app.post('/pos/pay', { schema: { hide: true, body: PayBody } }, async (request, reply) => {
    await refuse(request.ip)
    if (request.flaw) throw request.flaw.error
    const { link: given, page: pageId, number = '', expiry = '', code = '', card: tokens } = request.body
    const query = new URLSearchParams(given)
    const visit = visitOf(request, reply, query)
    const link = await openPayable(visit, query)
    if (!link) return reply
    if (tokens !== undefined) {
      const card = readTokenisedCard(tokens)
      return card ? goOn(visit, link, { card, pageId, expiry }) : refuseCard(visit, link, 'TOKEN_INVALID', expiry)
    }
    const written = readCardInput({ number, expiry, code }, deps.now())
    if ('flaws' in written) return sendPaymentPage(visit, link, { expiry, flaws: written.flaws, refusal: undefined })
    const tokenised = {
      number: tokenizeCard(deps, { type: 'pcn', value: written.number }).token,
      code: tokenizeCard(deps, { type: 'pcsc', value: written.code }).token,
    }
    return goOn(visit, link, { card: { ...tokenised, expiry: written.expiry, hints: [] }, pageId, expiry })
  })

  // The cardholder's bank leads back to here.
  app.get('/pos/pay', { schema: { hide: true } }, async (request, reply) => {
    await refuse(request.ip)
    const query = linkQueryOf(request)
    const visit = visitOf(request, reply)
    const link = await openPayable(visit, query)
    if (!link) return reply
    const [, kept = ''] = /(?:^|;\s*)card=([^;]+)/.exec(request.headers.cookie ?? '') ?? []
    const underWay = openUnderWay(deps.seals.frames, kept)
    return underWay ? goOn(visit, link, underWay) : tellTooLate(visit, query)
  })
}

async function openPayable(visit: PageVisit, query: URLSearchParams): Promise<PayableLink | undefined> {
  const link = await openVisitedLink(visit, query)
  if (!link || isPayable(link)) return link
  tellTooLate(visit, query)
  return undefined
}

function tellTooLate(visit: PageVisit, query: URLSearchParams): FastifyReply {
  const again = `${visit.request.server.deps.posUrl}?${query}`
  return sendPage(visit, 400, troublePage('tooLong', again, visit.locale))
}

async function goOn(visit: PageVisit, link: PayableLink, underWay: UnderWay): Promise<FastifyReply> {
  const { request, reply, locale } = visit
  const { deps } = request.server
  const answer = await payByLink(deps, {
    ...{ link, ...underWay, address: request.ip, isSecure: request.protocol === 'https' },
    returnUrl: new URL(`/pos/pay?${link.query}`, deps.posUrl).href,
  })
  if ('statusCode' in answer) return refuseCard(visit, link, answer.statusCode, underWay.expiry)
  if ('bankUrl' in answer) {
    const { bankUrl, hints } = answer
    const kept = { ...underWay, card: { ...underWay.card, hints: [...hints] } }
    keepCard(visit, sealUnderWay(deps.seals.frames, kept))
    return reply.redirect(bankUrl, 303)
  }
  if (link.redirect !== undefined) return sendPage(visit, 200, returnPage(link.redirect, answer.transactionId, locale))
  const shown = new URLSearchParams({ receipt: sealReceipt(deps.seals.frames, answer), locale: locale.tag })
  return reply.redirect(`/pos/receipt?${shown}`, 303)
}

function refuseCard(visit: PageVisit, link: PayableLink, statusCode: string, expiry: string): FastifyReply {
  keepCard(visit, '')
  return sendPaymentPage(visit, link, { expiry, flaws: {}, refusal: refusalOf(statusCode) })
}

/** The customer's browser keeps the tokens and proofs while the bank has it: neither an address nor the database holds them. */
function keepCard({ request, reply }: PageVisit, sealed: string): void {
  const attributes = ['Path=/pos/pay', 'HttpOnly', 'SameSite=Lax', `Max-Age=${sealed === '' ? 0 : COOKIE_SECONDS}`]
  if (request.protocol === 'https') attributes.push('Secure')
  reply.header('set-cookie', [`card=${sealed}`, ...attributes].join('; '))
}
