import type { Glob } from './glob.ts'

/** Where a redirect may go. */
export interface RedirectPolicy {
  readonly siteUrl: string
  /** Whether the host of `siteUrl` is permitted with it. Otherwise `siteUrl` is one address among those of the list. */
  readonly allowsHost: boolean
  /** Globs of URI_ALLOW_LIST. */
  readonly allowList: readonly Glob[]
}

/** The rule that refuses a target, as log and answer name it (reference: Redirect rules). */
export type RedirectRule =
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

/**
 * The longest URL (reference: Size limits). A form body could bring one of 1 MiB, and matching it would hold up
 * everybody else.
 */
const LENGTH_MAX = 8_192

/**
 * Why a client may not be sent to `target`; undefined when it may. Anything that browsers read in two ways is
 * refused.
 */
export function refusedBy(target: string, policy: RedirectPolicy): RedirectRule | undefined {
  if (target.length > LENGTH_MAX) return 'too-long'
  if (UNSAFE.test(target)) return 'unsafe-characters'
  const url = URL.parse(target)
  if (!url) return 'not-absolute'
  if (FORBIDDEN_SCHEMES.has(url.protocol)) return 'forbidden-scheme'
  const authority = rawAuthority(target)
  // Both readings count: the parser finds a user in `https:user@host`, the text alone shows the empty one of `//@host`.
  if (url.username || url.password || authority?.includes('@')) return 'userinfo'
  if (policy.allowsHost && sharesHost(url, new URL(policy.siteUrl))) return undefined
  const rule = hostRefusedBy(url, authority)
  if (rule) return rule
  // Browsers and servers resolve them, and so leave the path that the list permits.
  if (hasDotSegment(rawPath(target))) return 'dot-segments'
  // Where whole addresses are listed, nothing of one is left out (RFC 9700, 4.1.3).
  const compared = policy.allowsHost ? (target.split('#', 1)[0] ?? '') : target
  return policy.allowList.some((glob) => glob.matches(compared)) ? undefined : 'not-listed'
}

/** A target that a request asks for, and where in the request. */
export interface RedirectCandidate {
  readonly source: 'header' | 'query' | 'form' | 'referer'
  readonly target: string | undefined
}

/** A target that was asked for and refused. */
export interface RefusedRedirect {
  readonly source: RedirectCandidate['source']
  readonly rule: RedirectRule
  /** Its host, where it has one: the target itself may carry secrets. */
  readonly host: string | undefined
}

/**
 * The first permitted candidate, else SITE_URL; and the first that was refused. A Referer that is refused was not asked
 * for: browsers send one anyway.
 */
export function resolveRedirect(
  candidates: readonly RedirectCandidate[],
  policy: RedirectPolicy,
): { readonly target: string; readonly refused: RefusedRedirect | undefined } {
  let refused: RefusedRedirect | undefined
  for (const { source, target } of candidates) {
    if (!target) continue
    const rule = refusedBy(target, policy)
    if (!rule) return { target, refused }
    if (source !== 'referer') refused ??= { source, rule, host: URL.parse(target)?.host || undefined }
  }
  return { target: policy.siteUrl, refused }
}

/** The text between `//` and the path; undefined for a URI without authority. */
function rawAuthority(target: string): string | undefined {
  return /^[^:/?#]+:\/\/([^/?#]*)/.exec(target)?.[1]
}

/** The path of an absolute URI, as it is written. */
function rawPath(target: string): string {
  return /^[^:/?#]+:(?:\/\/[^/?#]*)?([^?#]*)/.exec(target)?.[1] ?? ''
}

/**
 * Whether a path has `.` or `..` as a segment, encoded any number of times: servers decode a path before they resolve it. What
 * parsers drop counts as absent: control characters, spaces at an end, and what follows a semicolon.
 */
function hasDotSegment(path: string): boolean {
  const decoded = path.replaceAll(/%(?:25)*([01][0-9a-f]|20|2e|2f|3b|5c|7f)/gi, (_match, code: string) => {
    const character = String.fromCharCode(Number.parseInt(code, 16))
    return /[ -~]/.test(character) ? character : ''
  })
  return /(?:^|[/\\]) *\.{1,2} *(?:$|[/\\;])/.test(decoded)
}

/** The hostname of SITE_URL on any port; https, or http when SITE_URL is http itself. */
function sharesHost(url: URL, site: URL): boolean {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && site.protocol === 'http:')) return false
  return url.hostname === site.hostname
}

/**
 * The rule for hosts that may not even be compared with the list: numbers, disguised addresses, addresses other than
 * loopback, and for http(s) whatever the URL parser would rewrite (full-width dots, percent-encoding, `https:host`).
 */
function hostRefusedBy(url: URL, authority: string | undefined): RedirectRule | undefined {
  const host = (authority ?? '').replace(/:\d*$/, '')
  if (host.startsWith('[')) return url.hostname === '[::1]' ? undefined : 'ip-address'
  if (isNumeric(host) || isNumeric(url.hostname)) return isLoopback(host) ? undefined : 'ip-address'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return undefined
  return /^[a-z0-9.-]+$/i.test(host) && host.toLowerCase() === url.hostname ? undefined : 'disguised-host'
}

/** Labels that are all decimal, octal or hexadecimal numbers: an IPv4 address in some notation. */
function isNumeric(host: string): boolean {
  return host !== '' && host.split('.').every((label) => /^(0x[0-9a-f]*|[0-9]+)$/i.test(label))
}

/** A canonical dotted address in 127.0.0.0/8. */
function isLoopback(host: string): boolean {
  return /^127(\.(0|[1-9][0-9]{0,2})){3}$/.test(host) && URL.parse(`http://${host}`)?.hostname === host
}
