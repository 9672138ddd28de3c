import { sendError, toHttpError } from '@trestle/common/errors/error-handler.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { errorVocabulary } from '../error-body.ts'
import { choosePageLocale, type PageLocale, type TextName } from '../pages/locale.ts'
import { pageHeaders } from '../pages/page.ts'
import { type LinkProblem, type PayableLink, type PaymentLink, problemBeforePayment } from '../payment-links/link.ts'
import { problemPage, troublePage } from '../payment-links/link-pages.ts'
import { type PaymentPage, paymentPage } from '../payment-links/payment-page.ts'
import { resolveLink } from '../use-cases/resolve-link.ts'
import { isInsecure } from './secure-transport.ts'

/** A request for a page, and the language of the page. */
export interface PageVisit {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly locale: PageLocale
}

const PROBLEMS: Readonly<Record<LinkProblem, { readonly status: 400 | 404; readonly text: TextName }>> = {
  'key-missing': { status: 400, text: 'keyMissing' },
  'key-unknown': { status: 404, text: 'keyUnknown' },
  'test-only': { status: 400, text: 'testOnly' },
  'live-only': { status: 400, text: 'liveOnly' },
  currency: { status: 400, text: 'currencyInvalid' },
  redirect: { status: 400, text: 'redirectInvalid' },
  reference: { status: 400, text: 'referenceInvalid' },
  text: { status: 400, text: 'textInvalid' },
  'card-number': { status: 400, text: 'linkCardNumber' },
  unavailable: { status: 400, text: 'unavailable' },
}
const PAGE_ID_BYTES = 16

/** Responds to every error of its context with a page in the language of the visitor. */
export const linkPages = fp(
  async (app: FastifyInstance) => {
    app.setErrorHandler((thrown, request, reply) => {
      const { locale } = visitOf(request, reply)
      const envelope = () => troublePage('troubleAdvice', undefined, locale)
      reply.headers(pageHeaders())
      return sendError({ ...errorVocabulary, envelope }, toHttpError(errorVocabulary, thrown, request), reply)
    })
    app.addHook('onRequest', async (request, reply) => {
      if (!isInsecure(request)) return
      const visit = visitOf(request, reply)
      return sendPage(visit, 400, problemPage('insecure', visit.locale))
    })
  },
  { name: 'link-pages' },
)

/** The query parameters. `get` returns the first value of a repeated parameter. None is refused here. */
export function linkQueryOf({ url }: Pick<FastifyRequest, 'url'>): URLSearchParams {
  const at = url.indexOf('?')
  return new URLSearchParams(at < 0 ? '' : url.slice(at))
}

/** Returns the visit of a page of a link. `query` is the query of the link, by default the query of the request. */
export function visitOf(request: FastifyRequest, reply: FastifyReply, query = linkQueryOf(request)): PageVisit {
  return { request, reply, locale: choosePageLocale(query.get('locale'), request.headers['accept-language']) }
}

/** Finds the link of a visit. If no payment can begin, sends a page that says why and returns `undefined`. */
export async function openVisitedLink(visit: PageVisit, query: URLSearchParams): Promise<PaymentLink | undefined> {
  const judged = await resolveLink(visit.request.server.deps, query)
  const problem = judged.verdict === 'read' ? problemBeforePayment(judged.link) : judged.problem
  if (problem !== undefined) sendProblem(visit, problem)
  return judged.verdict === 'problem' || problem !== undefined ? undefined : judged.link
}

/** Sends a page that says why a link cannot be paid. */
export function sendProblem(visit: PageVisit, problem: LinkProblem): FastifyReply {
  const { status, text } = PROBLEMS[problem]
  return sendPage(visit, status, problemPage(text, visit.locale))
}

/** Sends a page that loads and contacts only its own origin. */
export function sendPage({ reply }: PageVisit, status: number, page: string): FastifyReply {
  return reply.code(status).headers(pageHeaders()).send(page)
}

/** Sends the card form of a link, empty or again with the problems of the last attempt. */
export function sendPaymentPage(
  { request, reply, locale }: PageVisit,
  link: PayableLink,
  tried?: Pick<PaymentPage, 'expiry' | 'problems' | 'refusal'>,
): FastifyReply {
  const { config, randomBytes } = request.server.deps
  const { baseUrl: api } = config.server
  // The script of the page calls the checkout at this origin, so the content security policy allows it.
  const { origin } = new URL(api)
  const pageId = randomBytes(PAGE_ID_BYTES).toString('base64url')
  const page = paymentPage({ link, pageId, api, expiry: '', problems: {}, refusal: undefined, ...tried }, locale)
  return reply
    .code(tried ? 400 : 200)
    .headers(pageHeaders({ partners: [origin], formTargets: [origin] }))
    .send(page)
}
