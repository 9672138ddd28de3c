import { renderFrontPage, wantsPage } from '@trestle/common/documents/front-page.ts'
import { logThrown, toHttpError } from '@trestle/common/errors/error-handler.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { AuthConfig } from '../config.ts'
import { errorAnswers, errorVocabulary, redirectVocabulary } from '../error-body.ts'
import { confirmationPage, failureRedirect, withPathOf } from '../flows/flow-redirect.ts'
import { RedirectQuery } from '../flows/redirect-allow-list.ts'
import {
  flowOfLink,
  isPhoneType,
  isPrefetch,
  parseLink,
  VERIFY_TYPES,
  type VerifyFields,
} from '../one-time-tokens/verify-request.ts'
import { nameSession } from '../plugins/answers.ts'
import { isForm, JSON_AND_FORMS } from '../plugins/json-body.ts'
import { type RequestContextDeps, readContext } from '../plugins/read-context.ts'
import { emailField, needs, passwordField, phoneField, withTexts, withValues } from '../requests/fields.ts'
import { SessionView } from '../sessions/session-view.ts'
import { type FollowLinkDeps, followLink, OTHER_ADDRESS_LEFT, openLink } from '../use-cases/follow-link.ts'
import { type VerifiedSession, verifyMessage } from '../use-cases/verify-message.ts'

const MAIL_TYPES = VERIFY_TYPES.filter((type) => !isPhoneType(type))

const VerifyQuery = z
  .object({
    type: z
      .string()
      .optional()
      .meta({ minLength: 1, description: `The kind of the message: ${VERIFY_TYPES.join(', ')}` }),
    token: z.string().optional().meta({ description: 'The code of the message, or the token of its link' }),
    token_hash: z.string().optional().meta({ description: 'The token of the link' }),
    ...RedirectQuery.shape,
  })
  .meta(needs('type'))
const VerifyBody = z
  .looseObject({
    ...VerifyQuery.shape,
    type: z
      .string()
      .optional()
      .meta({ enum: [...VERIFY_TYPES], description: 'The kind of the message' }),
    email: emailField,
    phone: phoneField,
    password: passwordField,
  })
  .meta({
    ...needs('type'),
    anyOf: [
      withValues('type', MAIL_TYPES, withTexts(['token_hash'], ['token', 'email', 'phone', 'redirect_to'])),
      withValues('type', MAIL_TYPES, withTexts(['token'], ['token_hash', 'phone'])),
      withTexts(['token', 'phone'], ['token_hash', 'email']),
    ],
  })
const VerifiedAnswer = SessionView.extend({ type: z.string().optional() })
const HalfDoneAnswer = z.object({ msg: z.string(), code: z.string() })
const confirmationAnswer = {
  description: 'A page whose button uses the link, with AUTH_MAILER_LINK_MODE confirm',
  content: { 'text/html': { schema: z.string() } },
}
const damageAnswer = {
  description: 'A browser gets a page, other clients an error body',
  content: { ...errorAnswers(400)[400].content, 'text/html': { schema: z.string() } },
}
const RedirectAnswer = z.undefined().describe('A redirect with the session, an auth code or the error')

const HALF_DONE: z.output<typeof HalfDoneAnswer> = { msg: OTHER_ADDRESS_LEFT, code: '200' }

/** `GET /verify`: follows a mail's link and redirects. `POST /verify`: exchanges a code or a link token for a session. */
export const verifyRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  const { linkMode } = deps.config.mail
  app.get(
    '/verify',
    // Register no HEAD route, because a mail scanner must not use up the link.
    {
      exposeHeadRoute: false,
      config: { rateBucket: 'verify' },
      schema: {
        operationId: 'followMailLink',
        tags: ['Sign-in'],
        summary: 'Follow the link of a mail',
        description: 'A browser that opens a damaged link gets a page that says so.',
        security: [],
        querystring: VerifyQuery,
        response: { 200: confirmationAnswer, 303: RedirectAnswer, ...errorAnswers(429), 400: damageAnswer },
      },
      errorHandler: showDamage,
    },
    async (request, reply) => {
      const { query: fields, headers } = request
      const opened = openLink(deps, { fields, isPrefetch: isPrefetch(headers) })
      return opened === 'ask' ? showPage(deps, request, reply, fields) : redirectByLink(deps, request, reply, fields)
    },
  )
  app.post(
    '/verify',
    {
      config: { rateBucket: 'verify', forms: linkMode === 'confirm' },
      schema: {
        operationId: 'verifyCode',
        consumes: JSON_AND_FORMS,
        tags: ['Sign-in'],
        summary: 'Exchange a code or a link token for a session',
        description:
          'A form, from the page of a link, is read with AUTH_MAILER_LINK_MODE confirm and ends in a redirect.',
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
      const { body: fields } = request
      if (isForm(request)) return redirectByLink(deps, request, reply, fields)
      const verified = await verifyMessage(deps, { fields, context: await readContext(deps, request, reply) })
      return verified.verdict === 'session' ? viewVerified(deps.config, verified) : HALF_DONE
    },
  )
}

/** The session, with the type of its message if the profile shows it (reference: POST /verify). */
function viewVerified(
  { compatibility }: Pick<AuthConfig, 'compatibility'>,
  { session, type }: VerifiedSession,
): z.output<typeof VerifiedAnswer> {
  return type !== undefined && compatibility.showVerifiedType ? { ...session, type } : session
}

/** The page for a link with a missing part. The service cannot know to whom the link was sent. */
const damagedLink = renderFrontPage({
  title: 'This link is damaged',
  about:
    'A part of it is missing. Open it from the mail itself, or copy all of it. If that does not help, ask for a new mail.',
  groups: [],
})

/** Shows a page if a browser follows a damaged link. Throws all other errors as other routes do. */
function showDamage(thrown: Error, request: FastifyRequest, reply: FastifyReply): void {
  const isDamaged = toHttpError(errorVocabulary, thrown, request).status === 400 && !isPrefetch(request.headers)
  if (!isDamaged || !wantsPage(request.headers.accept)) throw thrown
  logThrown(errorVocabulary, thrown, request)
  reply.code(400).headers(damagedLink.headers).send(damagedLink.html)
}

/** Shows a page with a button that uses the link. Opening the page does not use up the link. */
async function showPage(deps: FollowDeps, request: FastifyRequest, reply: FastifyReply, fields: VerifyFields) {
  const { redirectTo } = await readContext(deps, request, reply)
  const { html, policy } = confirmationPage({ ...parseLink(fields), redirectTo })
  reply.headers({ 'content-security-policy': policy, 'referrer-policy': 'no-referrer' })
  return reply.type('text/html; charset=utf-8').send(html)
}

type FollowDeps = FollowLinkDeps & RequestContextDeps

/** Follows a link. Redirects the browser with the session, an auth code or an error. */
async function redirectByLink(deps: FollowDeps, request: FastifyRequest, reply: FastifyReply, fields: VerifyFields) {
  const link = parseLink(fields)
  const context = await readContext(deps, request, reply, fields.redirect_to)
  const { redirectTo } = context
  const address = await followLink(deps, { link, context })
    .then((followed) => {
      if (followed.session) nameSession(deps, reply, followed.session)
      return followed.address
    })
    .catch((thrown: unknown) =>
      failureRedirect(redirectTo, logThrown(redirectVocabulary, thrown, request), flowOfLink(link)),
    )
  const { compatibility } = deps.config
  return reply.header('referrer-policy', 'no-referrer').redirect(withPathOf(compatibility, redirectTo, address), 303)
}
