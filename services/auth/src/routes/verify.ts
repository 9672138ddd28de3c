import { noteThrown } from '@trestle/common/errors/error-handler.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorAnswers, errorVocabulary } from '../error-body.ts'
import { linkFetchedAhead } from '../errors.ts'
import { confirmationPage } from '../flows/confirmation-page.ts'
import { codeRedirect, failureRedirect, messageRedirect, sessionRedirect } from '../flows/flow-redirect.ts'
import type { FlowKind } from '../flows/pkce.ts'
import { RedirectQuery } from '../flows/redirect-allow-list.ts'
import { isPkceToken } from '../one-time-tokens/one-time-token.ts'
import {
  mayFollow,
  type ParsedLink,
  parseLink,
  parseVerifyBody,
  requireLinkToFollow,
  type VerifyFields,
} from '../one-time-tokens/verify-request.ts'
import { isForm } from '../plugins/json-body.ts'
import { type RequestContextDeps, readContext } from '../plugins/request-context.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { SessionView, type SessionViewDeps, signNewSession } from '../sessions/session-view.ts'
import {
  type Redeemed,
  type VerifyCodeDeps,
  type VerifyLinkDeps,
  verifyCode,
  verifyLink,
} from '../use-cases/verify-token.ts'

const VerifyQuery = z.object({
  type: z.string().optional(),
  token: z.string().optional(),
  token_hash: z.string().optional(),
  ...RedirectQuery.shape,
})
const VerifyBody = z.looseObject({
  ...VerifyQuery.shape,
  email: z.string().optional(),
  phone: z.string().optional(),
  password: z.string().optional(),
})
const VerifiedAnswer = SessionView.extend({ type: z.string().optional() })
const HalfDoneAnswer = z.object({ msg: z.string(), code: z.string() })
const confirmationAnswer = {
  description: 'A page whose button uses the link, with AUTH_MAILER_LINK_MODE confirm',
  content: { 'text/html': { schema: z.string() } },
}
const RedirectAnswer = z.undefined().describe('A redirect with the session, an auth code or the error')

/** The answer to the first of the two addresses that must confirm a change of email. */
const OTHER_ADDRESS_LEFT = 'Confirmation link accepted. Please proceed to confirm link sent to the other email'

/** `GET /verify`: a mail's link, which ends in a redirect. `POST /verify`: a code or a link's token, for a session. */
export const verifyRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const { linkMode } = deps.config.mail
  const { pkce } = deps.config.signup
  app.get(
    '/verify',
    // No HEAD, because a mail scanner must not use the link up.
    {
      exposeHeadRoute: false,
      config: { rateBucket: 'verify' },
      schema: {
        summary: 'Follow the link of a mail',
        security: [],
        querystring: VerifyQuery,
        response: { 200: confirmationAnswer, 303: RedirectAnswer, ...errorAnswers(400, 429) },
      },
    },
    async (request, reply) => {
      const showsPage = linkMode === 'confirm' && mayFollow(request.query, pkce)
      if (showsPage) return showPage(deps, request, reply, request.query)
      if (isPrefetch(request.headers)) throw linkFetchedAhead()
      return followLink(deps, request, reply, request.query)
    },
  )
  app.post(
    '/verify',
    {
      config: { rateBucket: 'verify', forms: linkMode === 'confirm' },
      schema: {
        summary: 'Exchange the code or the link of a message for a session',
        security: [],
        body: VerifyBody,
        response: {
          200: z.union([VerifiedAnswer, HalfDoneAnswer]),
          303: RedirectAnswer,
          ...errorAnswers(400, 403, 413, 422, 429),
        },
      },
    },
    async (request, reply) => {
      if (isForm(request)) return followLink(deps, request, reply, request.body)
      const verified = await verifyBodyToken(deps, request.body, await readContext(deps, request, reply))
      if (verified.verdict === 'other-address-left') return { msg: OTHER_ADDRESS_LEFT, code: '200' }
      if (verified.verdict === 'auth-code') throw new Error('a flow without redirect ended in an auth code')
      const { session, type } = verified
      return { ...(await signNewSession(deps, session)), ...(type === undefined ? {} : { type }) }
    },
  )
}

function verifyBodyToken(
  deps: VerifyCodeDeps,
  body: z.output<typeof VerifyBody>,
  context: RequestContext,
): Promise<Redeemed> {
  const { password } = body
  const input = { ...parseVerifyBody(body), context }
  if (input.kind === 'code') return verifyCode(deps, { ...input, password })
  return verifyLink(deps, { ...input, via: { kind: 'body', password } })
}

/** Shows the page whose button uses the link. Opening the page does not use the link up. */
async function showPage(deps: FollowDeps, request: FastifyRequest, reply: FastifyReply, fields: VerifyFields) {
  const { redirectTo } = await readContext(deps, request, reply)
  const { html, policy } = confirmationPage({ ...parseLink(fields), redirectTo })
  reply.headers({ 'content-security-policy': policy, 'referrer-policy': 'no-referrer' })
  return reply.type('text/html; charset=utf-8').send(html)
}

type FollowDeps = VerifyLinkDeps & RequestContextDeps & SessionViewDeps

/** Uses a link and redirects the browser, with the session, an auth code or the error. */
async function followLink(deps: FollowDeps, request: FastifyRequest, reply: FastifyReply, fields: VerifyFields) {
  const link = parseLink(fields)
  const context = await readContext(deps, request, reply, fields.redirect_to)
  const address = await useLink(deps, link, context).catch((thrown: unknown) =>
    failureRedirect(context.redirectTo, noteThrown(errorVocabulary, thrown, request), flowOf(link)),
  )
  return reply.header('referrer-policy', 'no-referrer').redirect(address, 303)
}

/** Uses a link. @returns where the browser goes next @throws linkWithoutPkce, and what `verifyLink` throws */
async function useLink(deps: FollowDeps, link: ParsedLink, context: RequestContext): Promise<string> {
  const { redirectTo } = context
  const checked = requireLinkToFollow(link, deps.config.signup.pkce)
  const used = await verifyLink(deps, { ...checked, via: { kind: 'redirect' }, context })
  if (used.verdict === 'other-address-left') return messageRedirect(redirectTo, OTHER_ADDRESS_LEFT, flowOf(link))
  if (used.verdict === 'auth-code') return codeRedirect(redirectTo, used.code)
  return sessionRedirect(redirectTo, await signNewSession(deps, used.session), used.type ?? link.type)
}

function flowOf({ token }: ParsedLink): FlowKind {
  return isPkceToken(token) ? 'pkce' : 'implicit'
}

/** Headers by which browsers and previews say that the user has not opened the page yet. */
const MARKS: readonly (readonly [name: string, mark: RegExp])[] = [
  ['sec-purpose', /\bprefetch\b/i],
  ['purpose', /\b(prefetch|preview)\b/i],
  ['x-purpose', /\b(prefetch|preview)\b/i],
  ['x-moz', /\bprefetch\b/i],
]

/** Whether a request only prefetches a page that a user may open later. */
function isPrefetch(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  return MARKS.some(([name, mark]) => mark.test(String(headers[name] ?? '')))
}
