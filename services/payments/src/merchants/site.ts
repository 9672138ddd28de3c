import { domainToUnicode } from 'node:url'

/** The Latin letters of European languages, except those that look like other letters, such as a dotless i. */
const LATIN = /^[a-z0-9ß-öø-įĳ-ķĺ-ľŁ-ňŋ-žșț-]+$/
/** Scripts with letters that look like Latin. They are shown only if all labels, also the last, are in this script. */
const ALONE = [/^[\p{sc=Cyrillic}0-9-]+$/u, /^[\p{sc=Greek}0-9-]+$/u]
/** Scripts in which no letter looks like a Latin one. */
const DISTINCT = [/^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}ー0-9-]+$/u, /^[\p{sc=Hangul}0-9-]+$/u]

/**
 * Returns the display name of a merchant: its own name, or the host of its website. The website may be stored as a URL or as a
 * host. An internationalised host is shown in Unicode only if its letters cannot be mistaken for others. Otherwise it is shown in
 * ASCII (reference: Payment links).
 */
export function displayName(name: string | null, website: string): string {
  return name ?? readable(hostOf(website) ?? website)
}

/** Returns the host of a website, with its port. */
function hostOf(website: string): string | undefined {
  const { host } = URL.parse(website) ?? {}
  return host || (/^[^/?#\s]+$/.test(website) ? URL.parse(`https://${website}`)?.host : undefined) || undefined
}

/** @param host the host in ASCII, as in URLs */
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

/** Returns the host of a website, which may be stored as a URL or as a host. Returns `undefined` if the website names no host. */
function hostnameOf(website: string): string | undefined {
  return URL.parse(website)?.hostname || URL.parse(`https://${website}`)?.hostname || undefined
}

/**
 * Returns whether an http or https address belongs to the website of a merchant. The address must have the host of the website,
 * with or without `www.`, or a subdomain of it. Scheme and port do not matter.
 */
export function sharesSite(address: string, website: string): boolean {
  const [host, own] = [URL.parse(address)?.hostname, hostnameOf(website)]
  if (!host || own === undefined) return false
  const site = own.replace(/^www\./, '')
  return host === own || host === site || (site.includes('.') && host.endsWith(`.${site}`))
}
