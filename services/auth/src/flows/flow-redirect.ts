import { createHash } from 'node:crypto'
import { breakable, escapeHtml } from '@trestle/common/documents/html.ts'
import { PAGE_ICON, PAGE_STYLE, renderTitle } from '@trestle/common/documents/page-style.ts'
import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import { signupDisabled, userBanned } from '../errors.ts'
import { externalEmailUnverified } from '../external-errors.ts'
import type { FlowKind } from './pkce.ts'

/** The session members in a fragment. `expires_in` is in seconds, `expires_at` in seconds since 1970. */
interface RedirectSession {
  readonly access_token: string
  readonly token_type: string
  readonly expires_in: number
  readonly expires_at: number
  readonly refresh_token: string
}

/** Returns the URL that ends a sign-in without PKCE. Its fragment has the session (reference: Verification redirects). */
export function sessionRedirect(redirectTo: string, session: RedirectSession, type: string): string {
  return withFragment(redirectTo, {
    access_token: session.access_token,
    token_type: session.token_type,
    expires_in: String(session.expires_in),
    refresh_token: session.refresh_token,
    type,
    expires_at: String(session.expires_at),
    sb: '',
  })
}

/** Returns the URL that ends a PKCE flow, with the code in its query. The code is useless without the verifier. */
export function codeRedirect(redirectTo: string, code: string): string {
  return withQuery(redirectTo, { code })
}

/** Returns the URL for an accepted link that signs nobody in yet. It is `redirectTo` with a message. */
export function messageRedirect(redirectTo: string, message: string, flow: FlowKind): string {
  const base = flow === 'pkce' ? withQuery(redirectTo, { message }) : redirectTo
  return withFormFragment(base, { message, sb: '' })
}

/** A failure in the query or the fragment of a redirect (reference: Error redirects). */
interface RedirectFailure {
  readonly status: number
  readonly code: string
  readonly message: string
}

const NAMES: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'unauthorized_client',
  403: 'access_denied',
  500: 'server_error',
  503: 'temporarily_unavailable',
}

/** Returns the error name of RFC 6749 for a status, or `undefined` if there is none. */
function oauthErrorName(status: number): string | undefined {
  return NAMES[status]
}

/**
 * Returns the URL that ends a failed link (reference: Error redirects). In a PKCE flow the query contains the error too, because
 * servers do not receive the fragment.
 */
export function failureRedirect(redirectTo: string, failure: RedirectFailure, flow: FlowKind): string {
  const name = oauthErrorName(failure.status)
  const parameters = {
    ...(name === undefined ? {} : { error: name }),
    error_code: failure.code,
    error_description: failure.message,
  }
  const base = flow === 'pkce' ? withQuery(redirectTo, parameters) : redirectTo
  return withFormFragment(base, { ...parameters, sb: '' })
}

interface ExternalSession {
  readonly session: RedirectSession
  /** `undefined` if the fragment must not contain it. */
  readonly provider: string | undefined
  readonly tokens: { readonly access: string; readonly refresh: string | undefined }
}

/** Returns the URL that ends a sign-in at a provider (reference: Callback redirects). */
export function externalSessionRedirect(redirectTo: string, { session, provider, tokens }: ExternalSession): string {
  return withFragment(redirectTo, {
    access_token: session.access_token,
    refresh_token: session.refresh_token,
    provider_token: tokens.access,
    expires_in: String(session.expires_in),
    ...(provider === undefined ? {} : { provider }),
    token_type: session.token_type,
    expires_at: String(session.expires_at),
    ...(tokens.refresh === undefined ? {} : { provider_refresh_token: tokens.refresh }),
    sb: '',
  })
}

/** Errors that the user must resolve. The request itself was valid. */
const DENIALS: ReadonlySet<string> = new Set([signupDisabled.code, userBanned.code, externalEmailUnverified.code])

/** Returns the URL that ends a failed sign-in (reference: Error redirects). Servers read the query, and pages the fragment. */
export function callbackFailureRedirect(
  redirectTo: string,
  error: HttpError,
  { showProviderRefusalCode }: Pick<CompatibilityOptions, 'showProviderRefusalCode'>,
): string {
  const parameters = failureParameters(error, { showProviderRefusalCode })
  return withFormFragment(withQuery(redirectTo, parameters), { ...parameters, sb: '' })
}

/** Returns the URL for a browser whose flow, and so its redirect, is unknown. */
export function unknownFlowRedirect(siteUrl: string, error: HttpError): string {
  return withQuery(siteUrl, failureParameters(error, { showProviderRefusalCode: true }))
}

/** `showProviderRefusalCode`: whether a refusal by the provider has an error code. */
function failureParameters(
  { status, code, message, details }: HttpError,
  { showProviderRefusalCode }: Pick<CompatibilityOptions, 'showProviderRefusalCode'>,
): RedirectParameters {
  const name = DENIALS.has(code) ? 'access_denied' : (oauthErrorName(status) ?? 'server_error')
  // If the provider has refused, `details.error` is the provider's error name.
  const isRefusal = typeof details.error === 'string'
  return {
    error: isRefusal ? String(details.error) : name,
    ...(isRefusal && !showProviderRefusalCode ? {} : { error_code: code }),
    error_description: message,
  }
}

/**
 * Returns the address that a browser is sent to. The other functions of this file write an empty path of `redirectTo` as `/`. If
 * the profile keeps empty paths, this function removes the `/` again.
 */
export function withPathOf(
  { addSlashToEmptyPath }: Pick<CompatibilityOptions, 'addSlashToEmptyPath'>,
  redirectTo: string,
  address: string,
): string {
  const hasPath = !/^[^:/?#]+:\/\/[^/?#]*(?:[?#]|$)/.test(redirectTo)
  return addSlashToEmptyPath || hasPath ? address : address.replace(/^([^:/?#]+:\/\/[^/?#]*)\//, '$1')
}

/** Ordered parameters of a fragment or query. */
type RedirectParameters = Readonly<Record<string, string>>

/**
 * Appends parameters as a fragment, percent-encoded and in order (reference: Verification redirects). Keeps an existing fragment.
 */
export function withFragment(redirectTo: string, parameters: RedirectParameters): string {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return `${normalise(redirectTo).href}#${pairs.join('&')}`
}

/**
 * Sets the fragment to form-encoded parameters, where a space becomes `+` (reference: Error redirects). Replaces an existing
 * fragment, because clients parse the whole fragment as parameters and would find no error in `#old#error=…`.
 */
export function withFormFragment(redirectTo: string, parameters: RedirectParameters): string {
  const url = normalise(redirectTo)
  url.hash = new URLSearchParams(parameters).toString()
  return url.href
}

/** Sets form-encoded query parameters. Replaces parameters of the same name, and leaves all others unchanged. */
export function withQuery(redirectTo: string, parameters: RedirectParameters): string {
  const url = normalise(redirectTo)
  const others = url.search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && !Object.hasOwn(parameters, queryName(pair)))
  url.search = [...others, new URLSearchParams(parameters).toString()].join('&')
  return url.href
}

function queryName(pair: string): string {
  return new URLSearchParams(pair).keys().next().value ?? ''
}

/** Returns the URL as browsers parse it: in ASCII, without line breaks, with at least the path `/`. */
function normalise(redirectTo: string): URL {
  const url = new URL(redirectTo)
  if (url.pathname === '') url.pathname = '/'
  return url
}

/** The fields of the page's form, and the address where it ends. */
interface ConfirmationForm {
  readonly type: string
  readonly token: string
  /** The redirect rules have permitted it. */
  readonly redirectTo: string
}

/** The page that shows a link's button, and its Content-Security-Policy. */
interface ConfirmationPage {
  readonly html: string
  readonly policy: string
}

const TEXTS: Readonly<Record<string, readonly [title: string, button: string]>> = {
  signup: ['Confirm your email address', 'Confirm'],
  invite: ['Accept the invitation', 'Accept'],
  recovery: ['Reset your password', 'Continue'],
  magiclink: ['Sign in', 'Sign in'],
  email: ['Sign in', 'Sign in'],
  email_change: ['Confirm the change of your email address', 'Confirm'],
}
const OTHER_TEXT = ['Confirm that it is you', 'Continue'] as const

const STYLE_HASH = createHash('sha256').update(PAGE_STYLE).digest('base64')

/**
 * Returns the page between a mail's link and its effect, for MAILER_LINK_MODE `confirm`. Programs that scan mails open the page,
 * but only a person presses the button. The page works without scripts and by keyboard.
 */
export function confirmationPage(form: ConfirmationForm): ConfirmationPage {
  const target = new URL(form.redirectTo)
  const [title, button] = (Object.hasOwn(TEXTS, form.type) ? TEXTS[form.type] : undefined) ?? OTHER_TEXT
  return { html: toHtml({ title, button, host: target.host, form }), policy: toPolicy(target) }
}

interface PageParts {
  readonly title: string
  readonly button: string
  /** The host where the form ends. Empty for a URL without a host. */
  readonly host: string
  readonly form: ConfirmationForm
}

function toHtml({ title, button, host, form: { type, token, redirectTo } }: PageParts): string {
  const inputs = Object.entries({ token, type, redirect_to: redirectTo }).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="${PAGE_ICON}">
<style>${PAGE_STYLE}</style>
</head>
<body class="single">
<main>
${renderTitle(title)}
<p>${host === '' ? 'Press the button to continue.' : `You will continue to ${breakable(host)}.`}</p>
<form method="post" action="?" class="actions">${inputs.join('')}<button type="submit">${button}</button></form>
</main>
</body>
</html>
`
}

/** Browsers apply `form-action` to redirects after a form too, so the policy contains the final address. */
function toPolicy(target: URL): string {
  const isHttp = target.protocol === 'https:' || target.protocol === 'http:'
  // A Content-Security-Policy cannot contain an IPv6 host, so permit the scheme instead.
  const source = isHttp && !target.hostname.startsWith('[') ? target.origin : target.protocol
  return [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    'img-src data:',
    `form-action 'self' ${source}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
