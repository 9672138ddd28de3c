import { z } from 'zod'
import type { Glob } from './glob.ts'
import { type PkceChallenge, type PkceRule, parsePkce, pkceParameters, requirePkce } from './pkce.ts'

/** The permitted addresses of redirects: SITE_URL and addresses that match URI_ALLOW_LIST (reference: Redirect rules). */
export interface RedirectPolicy {
  readonly siteUrl: string
  /**
   * The addresses that `siteUrl` permits. `address`: only itself, as if it were in the list. `host`: every URL with its host.
   * `origin`: every URL with its scheme, host and port, and all loopback addresses.
   */
  readonly site: 'address' | 'host' | 'origin'
  /** Globs of URI_ALLOW_LIST. */
  readonly allowList: readonly Glob[]
}

/** The rule that refuses a redirect, by its name in the log and the answer (reference: Redirect rules). */
type RedirectRule =
  | 'not-absolute'
  | 'too-long'
  | 'unsafe-characters'
  | 'forbidden-scheme'
  | 'userinfo'
  | 'ip-address'
  | 'disguised-host'
  | 'dot-segments'
  | 'not-listed'

const FORBIDDEN_SCHEMES: ReadonlySet<string> = new Set([
  'javascript:',
  'data:',
  'vbscript:',
  'file:',
  'about:',
  'blob:',
])

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\\]|^\s|\s$/u

/** The longest URL (reference: Size limits). A form may contain a URL of 1 MiB, and matching it would block the event loop. */
const LENGTH_MAX = 8_192

/**
 * Returns the rule that forbids a redirect to `redirectTo`, or `undefined` if it is permitted. Refuses a URL that two parsers may
 * interpret differently.
 */
export function refusedBy(redirectTo: string, policy: RedirectPolicy): RedirectRule | undefined {
  if (redirectTo.length > LENGTH_MAX) return 'too-long'
  if (UNSAFE.test(redirectTo)) return 'unsafe-characters'
  const url = URL.parse(redirectTo)
  if (!url) return 'not-absolute'
  if (FORBIDDEN_SCHEMES.has(url.protocol)) return 'forbidden-scheme'
  const authority = rawAuthority(redirectTo)
  // Check the parsed URL and the text. Only the parser finds the user in `https:user@host`, and only the text shows the empty
  // user in `//@host`.
  if (url.username || url.password || authority?.includes('@')) return 'userinfo'
  if (isOfSite(redirectTo, url, policy)) return undefined
  const rule = hostRefusedBy(url, authority)
  if (rule) return rule
  // Browsers and servers resolve dot segments, and so leave the path that the list permits.
  if (hasDotSegment(rawPath(redirectTo))) return 'dot-segments'
  // If the list has whole URLs, compare the whole URL with its fragment (RFC 9700, 4.1.3).
  const compared = policy.site === 'address' ? redirectTo : (redirectTo.split('#', 1)[0] ?? '')
  return policy.allowList.some((glob) => glob.matches(compared)) ? undefined : 'not-listed'
}

/** The query parameter of every request that may name a redirect. */
export const RedirectQuery = z.object({
  redirect_to: z
    .string()
    .optional()
    .meta({ description: 'Where the flow ends, if the rules allow it; AUTH_SITE_URL by default' }),
})

/** A requested redirect, and where the request contains it. */
export interface RedirectCandidate {
  readonly source: 'header' | 'query' | 'form' | 'referer'
  readonly redirectTo: string | undefined
}

export interface RefusedRedirect {
  readonly source: RedirectCandidate['source']
  readonly rule: RedirectRule
  /** The host of the URL, if any. The log omits the URL itself, because it may contain secrets. */
  readonly host: string | undefined
}

/**
 * Returns the first permitted candidate, otherwise SITE_URL. Also returns the first refused candidate, if any. A refused Referer
 * is not reported, because browsers send one with every request.
 */
export function resolveRedirect(
  candidates: readonly RedirectCandidate[],
  policy: RedirectPolicy,
): { readonly redirectTo: string; readonly refused: RefusedRedirect | undefined } {
  let refused: RefusedRedirect | undefined
  for (const { source, redirectTo } of candidates) {
    if (!redirectTo) continue
    const rule = refusedBy(redirectTo, policy)
    if (!rule) return { redirectTo, refused }
    if (source !== 'referer') refused ??= { source, rule, host: URL.parse(redirectTo)?.host || undefined }
  }
  return { redirectTo: policy.siteUrl, refused }
}

interface FlowEndRules {
  readonly signup: { readonly redirects: RedirectPolicy }
  /** `redirectUrl` is EXTERNAL_REDIRECT_URL, where all provider flows end. The list does not apply to it. */
  readonly external: { readonly redirectUrl: string | undefined }
}

/**
 * Returns the final address of a stored flow if the rules still permit it, otherwise SITE_URL. Another service may have written
 * the row, or the settings may have changed.
 */
export function permittedEnd(redirectTo: string, { signup, external }: FlowEndRules): string {
  if (redirectTo === external.redirectUrl) return redirectTo
  return refusedBy(redirectTo, signup.redirects) ? signup.redirects.siteUrl : redirectTo
}

/** The text between `//` and the path. `undefined` for a URI without an authority. */
function rawAuthority(redirectTo: string): string | undefined {
  return /^[^:/?#]+:\/\/([^/?#]*)/.exec(redirectTo)?.[1]
}

/** The path of an absolute URI, as written. */
function rawPath(redirectTo: string): string {
  return /^[^:/?#]+:(?:\/\/[^/?#]*)?([^?#]*)/.exec(redirectTo)?.[1] ?? ''
}

/**
 * Whether a path has a segment `.` or `..`, even if encoded several times, because servers decode a path before they resolve it.
 * Ignores what parsers drop: control characters, spaces at the ends of a segment, and all text after a semicolon.
 */
function hasDotSegment(path: string): boolean {
  const decoded = path.replaceAll(/%(?:25)*([01][0-9a-f]|20|2e|2f|3b|5c|7f)/gi, (_match, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16))
    return /[ -~]/.test(character) ? character : ''
  })
  return /(?:^|[/\\]) *\.{1,2} *(?:$|[/\\;])/.test(decoded)
}

function isOfSite(redirectTo: string, url: URL, { siteUrl, site }: RedirectPolicy): boolean {
  if (site === 'address') return isSite(redirectTo, siteUrl)
  if (site === 'host') return sharesHost(url, new URL(siteUrl))
  return isLoopbackAddress(redirectTo, url) || sharesOrigin(redirectTo, url, siteUrl)
}

/** Whether a URL is SITE_URL as written, with or without the slash of an empty path. */
function isSite(redirectTo: string, siteUrl: string): boolean {
  const withPath = (address: string) => (/^[^:/?#]+:\/\/[^/?#]+$/.test(address) ? `${address}/` : address)
  return withPath(redirectTo) === withPath(siteUrl)
}

/** Whether a URL has the hostname of SITE_URL on any port. Accepts https, and http if SITE_URL uses http. */
function sharesHost(url: URL, site: URL): boolean {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && site.protocol === 'http:')) return false
  return url.hostname === site.hostname
}

/**
 * Whether a URL has the scheme, host and port of SITE_URL. Host and port are compared as written, because the parser rewrites
 * hosts only for some schemes, and finds a host in `https:host`. For loopback addresses any port is accepted, because local
 * programs use any free port.
 */
function sharesOrigin(redirectTo: string, url: URL, siteUrl: string): boolean {
  const [host, port] = splitAuthority(redirectTo)
  const [siteHost, sitePort] = splitAuthority(siteUrl)
  if (host === '' || host !== siteHost || url.protocol !== new URL(siteUrl).protocol) return false
  return host === 'localhost' || port === sitePort
}

/** Whether the host of a URL is a loopback address. Names do not count, because they could resolve to other addresses. */
function isLoopbackAddress(redirectTo: string, url: URL): boolean {
  const [host] = splitAuthority(redirectTo)
  return isLoopback(host) || (host.startsWith('[') && url.hostname === '[::1]')
}

/** The host and port of an absolute URI, as written. */
function splitAuthority(redirectTo: string): readonly [host: string, port: string] {
  const [, host = '', port = ''] = /^(.*?)(?::(\d*))?$/s.exec(rawAuthority(redirectTo) ?? '') ?? []
  return [host, port]
}

/**
 * Returns the rule that refuses a host before the list is checked. Refuses numbers and IP addresses except loopback. For http(s),
 * refuses any host that the URL parser would rewrite (full-width dots, percent-encoding, `https:host`).
 */
function hostRefusedBy(url: URL, authority: string | undefined): RedirectRule | undefined {
  const host = (authority ?? '').replace(/:\d*$/, '')
  if (host.startsWith('[')) return url.hostname === '[::1]' ? undefined : 'ip-address'
  if (isNumeric(host) || isNumeric(url.hostname)) return isLoopback(host) ? undefined : 'ip-address'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined
  return /^[a-z0-9.-]+$/i.test(host) && host.toLowerCase() === url.hostname ? undefined : 'disguised-host'
}

/** Whether all labels are decimal, octal or hexadecimal numbers, as in notations of IPv4 addresses. */
function isNumeric(host: string): boolean {
  return host !== '' && host.split('.').every((label) => /^(0x[0-9a-f]*|[0-9]+)$/i.test(label))
}

/** Whether a host is an address in 127.0.0.0/8, in canonical dotted form. */
function isLoopback(host: string): boolean {
  return /^127(\.(0|[1-9][0-9]{0,2})){3}$/.test(host) && URL.parse(`http://${host}`)?.hostname === host
}

/** The query that starts a sign-in at a provider. Unknown parameters are passed on to the provider. */
export const AuthorizeQuery = z
  .object({
    provider: z.string().optional().meta({ minLength: 1, description: 'The name of the provider' }),
    scopes: z
      .string()
      .optional()
      .meta({ description: 'Further scopes to ask the provider for, separated by commas or spaces' }),
    redirect_to: RedirectQuery.shape.redirect_to.meta({
      description: 'Where the browser goes at the end; AUTH_SITE_URL by default',
    }),
    ...pkceParameters,
  })
  .catchall(z.string())

interface AuthorizeRequest {
  readonly provider: string
  readonly scopes: string
  readonly pkce: PkceChallenge | undefined
  readonly query: Readonly<Record<string, string>>
}

/** Reads the query without its redirect, which `readContext` resolves. */
export function readAuthorizeQuery(query: z.output<typeof AuthorizeQuery>, rule: PkceRule): AuthorizeRequest {
  const { provider = '', scopes = '' } = query
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  const pkce = parsePkce(query, rule)
  requirePkce(pkce, rule)
  return { provider, scopes, pkce, query: Object.fromEntries(parameters) }
}
