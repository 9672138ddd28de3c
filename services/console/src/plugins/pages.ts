import { html } from '@trestle/common/documents/html.ts'
import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { sendError, toHttpError } from '@trestle/common/errors/error-handler.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorVocabulary } from '../error-body.ts'
import { type ConsolePage, type Frame, PAGE_HEADERS, renderConsolePage, renderSinglePage } from '../pages/layout.ts'
import { ownPath, PATHS } from '../pages/paths.ts'
import { type OpenedFile, SERVICE_NAMES } from '../service-calls/service-call.ts'
import { endSession, isLedByOthers } from './browser-session.ts'
import { type Visit, visitOf } from './operator.ts'

/** Responds to an error with a page. Without a session, redirects to the sign-in instead. */
export function sendErrorPage(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toHttpError(errorVocabulary, thrown, request)
  if (error.code === 'not_signed_in') return leadToSignIn(request, reply)
  reply.headers(PAGE_HEADERS)
  const frame = request.visit && frameOf(request.visit)
  const maySendAgain = request.method === 'POST' && ['service_away', 'answer_unreadable'].includes(error.code)
  const envelope = () => errorPage(error, { frame, advice: maySendAgain ? SEND_AGAIN : undefined })
  return sendError({ ...errorVocabulary, envelope }, error, reply)
}

/** Redirects to the sign-in and then back to the page. A form is left out, because it would be empty. */
function leadToSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const wasSignedIn = Object.keys(request.cookies).some((name) => name.endsWith('trestle_console'))
  endSession(reply, undefined)
  const query = new URLSearchParams()
  if (request.method === 'GET' && request.url !== '/') query.set('next', request.url)
  if (wasSignedIn) query.set('ended', '1')
  const target = query.size === 0 ? PATHS.signIn : `${PATHS.signIn}?${query}`
  // htmx would insert the sign-in into a part of the page. The header makes it open the whole page.
  if (request.headers['hx-request'] !== undefined) return reply.code(204).header('hx-redirect', target).send()
  return reply.redirect(target, 303)
}

/** Shows a page of an operator. If another site led the browser here, the page opens again. @throws notSignedIn */
export function sendPage(request: FastifyRequest, reply: FastifyReply, page: ConsolePage, status = 200): FastifyReply {
  if (isLedByOthers(request)) return openAgain(request, reply)
  return reply
    .code(status)
    .headers(PAGE_HEADERS)
    .send(renderConsolePage(page, frameOf(visitOf(request))))
}

/**
 * Makes the browser open the same URL again, without the fragment. A fragment from another site (`#main`, `#:~:text=Refund`)
 * chooses the target of the next Tab. Keys that are typed for the other site could then open and answer a question. A redirect
 * would keep the fragment.
 */
function openAgain(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = ownPath(request.url)
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="0; url=${path}">
<title>Trestle console</title>
</head>
<body><main><p><a href="${path}">Open the page</a></p></main></body>
</html>
`
  return reply
    .headers({
      ...PAGE_HEADERS,
      'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    })
    .send(page.html)
}

export function sendFile(
  reply: FastifyReply,
  {
    name,
    type,
    content,
  }: { readonly name: string; readonly type: string; readonly content: Buffer | NodeJS.ReadableStream },
): FastifyReply {
  const safe = name.replaceAll(/[^\w.-]/g, '_')
  return reply
    .headers({ 'content-disposition': `attachment; filename="${safe}"` })
    .type(`${type}; charset=utf-8`)
    .send(content)
}

/** Sends rows as a file while they arrive from the service. */
export function sendCsv(
  reply: FastifyReply,
  name: string,
  { bytes }: Extract<OpenedFile, { kind: 'file' }>,
): FastifyReply {
  reply.liftDeadline()
  return sendFile(reply, { name: `${name}.csv`, type: 'text/csv', content: bytes })
}

function frameOf(visit: Visit): Frame {
  const { email, role, calls, form, session } = visit
  const services = SERVICE_NAMES.filter((name) => calls.has(name))
  return { email, role, services, form, toast: session.toast }
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Not valid',
  403: 'Not allowed',
  404: 'Not found',
  413: 'Too large',
  415: 'Not a form',
  422: 'Refused',
  429: 'Too many requests',
  503: 'Not available',
}

/**
 * Advice after a form to which no service responded: the change may be done anyway. Reloading sends the same form with the same
 * key.
 */
const SEND_AGAIN =
  'The change may be made already. Reload this page to send the same form again: the change is made at most once.'

/** The frame of an error page, only for signed-in operators. Some errors have advice. */
interface ErrorSurroundings {
  readonly frame: Frame | undefined
  readonly advice: string | undefined
}

/** The page for an error, with a link to the overview. */
function errorPage(
  { status, message }: Pick<HttpError, 'status' | 'message'>,
  { frame, advice }: ErrorSurroundings,
): string {
  const title = TITLES[status] ?? 'Something went wrong'
  const main = html`<div class="empty" role="alert"><p class="empty-code">${status}</p><h1>${title}</h1><p>${message}.</p>
${advice && html`<p>${advice}</p>`}
<p class="actions"><a class="button primary" href="${PATHS.home}">Go to the overview</a></p></div>`
  return frame === undefined ? renderSinglePage(title, main) : renderConsolePage({ title, main }, frame)
}
