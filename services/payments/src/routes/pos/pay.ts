import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { pageAnswers, pageOrErrorAnswers, redirectAnswer } from '../../error-body.ts'
import { returnPage, troublePage } from '../../payment-links/link-pages.ts'
import { encryptReceipt } from '../../payment-links/receipt.ts'
import { refuseBeyond } from '../../plugins/limit-effects.ts'
import {
  linkQueryOf,
  type PageVisit,
  sendPage,
  sendPaymentPage,
  sendProblem,
  visitOf,
} from '../../plugins/link-pages.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'
import { pathText } from '../../requests/fields.ts'
import { type KeptPayment, type PageAnswer, type PayOnPageInput, payOnPage } from '../../use-cases/pay-on-page.ts'
import { LinkQuery } from '../pos.ts'

const COOKIE_SECONDS = 1_800
const PAGE_ID = /^[\w-]{22}$/

const PageParams = z.object({ pageId: pathText() })
const PayBody = z.object({
  link: LinkQuery,
  page: z.string().regex(PAGE_ID),
  number: z.string().optional(),
  expiry: z.string().optional(),
  code: z.string().optional(),
  /** The values that the script of the page submits in addition to the fields. */
  card: z.string().optional(),
})

const cardFormSchema = {
  operationId: 'submitCardForm',
  tags: ['Pages'],
  summary: 'Take the card form of a payment page',
  security: [],
  body: PayBody,
  response: { ...redirectAnswer, ...pageAnswers(200, 400, 404, 409, 413, 415, 429, 500, 503) },
}

const reopenSchema = {
  operationId: 'reopenCardForm',
  tags: ['Pages'],
  summary: 'Lead back to the link of a submitted card form',
  security: [],
  response: pageAnswers(400, 404, 409, 429, 500, 503),
}

/**
 * Accepts the card form, with tokens from the script or with card data from browsers without JavaScript (reference: Payment
 * page).
 */
export const posPayRoutes: Routes = async (app) => {
  const refuse = refuseBeyond(app, 'address', app.deps.rateLimits.checkouts)

  app.post(
    '/pos/pay',
    {
      schema: cardFormSchema,
    },
    async (request, reply) => {
      await refuse(request.ip)
      const { link, page: pageId, number = '', expiry = '', code = '', card: tokens } = requireValues(request.body)
      const query = new URLSearchParams(link)
      return answerPayment(visitOf(request, reply, query), query, {
        pageId,
        source: { type: 'form', form: { tokens, number, expiry, code } },
      })
    },
  )

  const comeBack = async (request: FastifyRequest, reply: FastifyReply, pageId: string) => {
    await refuse(request.ip)
    const { cookie = '' } = request.headers
    const kept = { card: cookieOf(cookie, 'card'), paid: cookieOf(cookie, 'paid') }
    return answerPayment(visitOf(request, reply), linkQueryOf(request), { pageId, source: { type: 'kept', kept } })
  }
  // GET, because the customer's bank redirects the browser to this URL.
  app.get(
    '/pos/pay/:pageId',
    {
      schema: {
        operationId: 'returnFromBank',
        tags: ['Pages'],
        summary: 'Go on after the page of the bank',
        security: [],
        params: PageParams,
        response: {
          ...redirectAnswer,
          ...pageAnswers(200, 400, 409, 429, 500, 503),
          ...pageOrErrorAnswers(404),
        },
      },
    },
    (request, reply) => comeBack(request, reply, request.params.pageId),
  )
  // A browser that reopens the URL of a submitted form sends GET, and would get 404 without this route. No payment can succeed
  // here. Each cookie is encrypted for the id of its page, and this URL has no page id.
  app.get(
    '/pos/pay',
    {
      schema: reopenSchema,
    },
    (request, reply) => comeBack(request, reply, ''),
  )
}

/** The id of the page that requests the payment, and the source of the card. */
type CardPageRequest = Pick<PayOnPageInput, 'pageId' | 'source'>

async function answerPayment(visit: PageVisit, query: URLSearchParams, card: CardPageRequest): Promise<FastifyReply> {
  const { ip, protocol, method, server } = visit.request
  const path = `/pos/pay/${card.pageId}`
  const page = { query, path, ip, isSecure: protocol === 'https', locale: visit.locale.tag }
  const answer = await payOnPage(server.deps, { ...card, ...page })
  // HEAD does not change the cookies, so that the next GET still finds the payment by the card in its cookie.
  const isKept = answer.verdict === 'at-bank' || (answer.verdict === 'paid' && method === 'GET')
  if (isKept && answer.kept) setCookies(visit, path, answer.kept)
  return sendAnswer(visit, query, answer)
}

function sendAnswer(visit: PageVisit, query: URLSearchParams, answer: PageAnswer): FastifyReply {
  switch (answer.verdict) {
    case 'no-link':
      return sendProblem(visit, answer.problem)
    case 'too-late':
      return sendTooLate(visit, query)
    case 'refused':
      return sendPaymentPage(visit, answer.link, answer.tried)
    case 'at-bank':
      return visit.reply.redirect(answer.bankUrl, 303)
    case 'paid':
      return sendPaid(visit, answer)
  }
}

function sendTooLate(visit: PageVisit, query: URLSearchParams): FastifyReply {
  const again = `${visit.request.server.deps.config.checkout.posUrl}?${query}`
  return sendPage(visit, 400, troublePage('tooLong', again, visit.locale))
}

function sendPaid(
  visit: PageVisit,
  { link: { redirect }, receipt }: Extract<PageAnswer, { verdict: 'paid' }>,
): FastifyReply {
  const { request, reply, locale } = visit
  if (redirect !== undefined) return sendPage(visit, 200, returnPage(redirect, receipt, locale))
  const { ciphers } = request.server.deps
  const shown = new URLSearchParams({ receipt: encryptReceipt(ciphers.frames, receipt), locale: locale.tag })
  return reply.redirect(`/pos/receipt?${shown}`, 303)
}

/**
 * Stores the tokens and hints in cookies while the customer is at the bank, so that no URL and no database row contains them. The
 * cookies have the path of their page, so payments in two windows do not interfere. An empty value deletes the cookie.
 */
function setCookies({ request, reply }: PageVisit, path: string, kept: Partial<KeptPayment>): void {
  const attributes = [`Path=${path}`, 'HttpOnly', 'SameSite=Lax', ...(request.protocol === 'https' ? ['Secure'] : [])]
  const headers = Object.entries(kept).map(([name, encrypted]) =>
    [`${name}=${encrypted}`, ...attributes, `Max-Age=${encrypted === '' ? 0 : COOKIE_SECONDS}`].join('; '),
  )
  reply.header('set-cookie', headers)
}

function cookieOf(header: string, name: string): string {
  return new RegExp(`(?:^|;\\s*)${name}=([^;]+)`).exec(header)?.[1] ?? ''
}
