import type { Glob } from './glob.ts'

/** Where a redirect may go. */
export interface RedirectPolicy {
  readonly siteUrl: string
  /** Globs of URI_ALLOW_LIST. */
  readonly allowList: readonly Glob[]
}

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

/** The longest URL of contract 9.2. A form body could bring one of 1 MiB, and matching it would hold up everybody else. */
const LENGTH_MAX = 8_192

/** Whether a client may be sent to `target` (contract 7.2). Anything that browsers read in two ways is refused. */
export function isRedirectPermitted(target: string, policy: RedirectPolicy): boolean {
  if (target === '' || target.length > LENGTH_MAX || UNSAFE.test(target) || !URL.canParse(target)) return false
  const url = new URL(target)
  const authority = rawAuthority(target)
  // Both readings count: the parser finds a user in `https:user@host`, the text alone shows the empty one of `//@host`.
  if (FORBIDDEN_SCHEMES.has(url.protocol) || url.username || url.password || authority?.includes('@')) return false
  if (sharesHost(url, new URL(policy.siteUrl))) return true
  if (!isPlainHost(url, authority)) return false
  const withoutFragment = target.split('#', 1)[0] ?? ''
  return policy.allowList.some((glob) => glob.matches(withoutFragment))
}

/** The first permitted candidate, else SITE_URL. */
export function resolveRedirect(candidates: readonly (string | undefined)[], policy: RedirectPolicy): string {
  return candidates.find((target) => target !== undefined && isRedirectPermitted(target, policy)) ?? policy.siteUrl
}

/** The text between `//` and the path; undefined for a URI without authority. */
function rawAuthority(target: string): string | undefined {
  return /^[^:/?#]+:\/\/([^/?#]*)/.exec(target)?.[1]
}

/** Ruling R1: the hostname of SITE_URL on any port; https, or http when SITE_URL is http itself. */
function sharesHost(url: URL, site: URL): boolean {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && site.protocol === 'http:')) return false
  return url.hostname === site.hostname
}

/**
 * False for hosts that may not even be compared with the list: numbers, disguised addresses, addresses other than
 * loopback, and for http(s) whatever the URL parser would rewrite (full-width dots, percent-encoding, `https:host`).
 */
function isPlainHost(url: URL, authority: string | undefined): boolean {
  const host = (authority ?? '').replace(/:\d*$/, '')
  if (host.startsWith('[')) return url.hostname === '[::1]'
  if (isNumeric(host) || isNumeric(url.hostname)) return isLoopback(host)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return true
  return /^[a-z0-9.-]+$/i.test(host) && host.toLowerCase() === url.hostname
}

/** Labels that are all decimal, octal or hexadecimal numbers: an IPv4 address in some notation. */
function isNumeric(host: string): boolean {
  return host !== '' && host.split('.').every((label) => /^(0x[0-9a-f]*|[0-9]+)$/i.test(label))
}

/** A canonical dotted address in 127.0.0.0/8. */
function isLoopback(host: string): boolean {
  return /^127(\.(0|[1-9][0-9]{0,2})){3}$/.test(host) && URL.parse(`http://${host}`)?.hostname === host
}
