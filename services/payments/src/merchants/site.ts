import { domainToUnicode } from 'node:url'

/** The letters of European languages that are written in Latin, without those that look like others, such as a dotless i. */
const LATIN = /^[a-z0-9ß-öø-įĳ-ķĺ-ľŁ-ňŋ-žșț-]+$/
/** Scripts with letters that look like Latin ones. A host in one of them is shown only if the last label is in it too. */
const ALONE = [/^[\p{sc=Cyrillic}0-9-]+$/u, /^[\p{sc=Greek}0-9-]+$/u]
/** Scripts of which no letter looks like a Latin one. */
const DISTINCT = [/^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー0-9-]+$/u, /^[\p{sc=Hangul}0-9-]+$/u]

/**
 * The name that people know a merchant by: its own, or the host of its website, which may be stored as a URL or as a host. A
 * host of an internationalised domain is shown in its own letters where they cannot pass for others, else in ASCII
 * (reference: Payment links).
 */
export function displayName(name: string | null, website: string): string {
  return name ?? readable(hostOf(website) ?? website)
}

/** The host of a website, with its port. */
function hostOf(website: string): string | undefined {
  const { host } = URL.parse(website) ?? {}
  return host || (/^[^/?#\s]+$/.test(website) ? URL.parse(`https://${website}`)?.host : undefined) || undefined
}

/** @param host in ASCII, as URLs have it */
function readable(host: string): string {
  if (!host.includes('xn--')) return host
  const [name = '', port] = host.split(':')
  const shown = domainToUnicode(name)
  const labels = shown.split('.')
  const isSafe =
    ALONE.some((script) => labels.every((label) => script.test(label))) ||
    labels.every((label) => [LATIN, ...DISTINCT].some((script) => script.test(label)))
  if (!isSafe) return host
  return port === undefined ? shown : `${shown}:${port}`
}

/** The host of a website, which may be stored as a URL or as a host. Undefined when it names no host. */
function hostnameOf(website: string): string | undefined {
  return URL.parse(website)?.hostname || URL.parse(`https://${website}`)?.hostname || undefined
}

/**
 * Whether an http or https address belongs to the website of a merchant: to its host, with or without `www.`, or to a
 * host below it. Scheme and port do not matter.
 */
export function sharesSite(address: string, website: string): boolean {
  const [host, own] = [URL.parse(address)?.hostname, hostnameOf(website)]
  if (!host || own === undefined) return false
  const site = own.replace(/^www\./, '')
  return host === own || host === site || (site.includes('.') && host.endsWith(`.${site}`))
}
