/** The host of a website, which may be kept as a URL or as a host alone. Undefined when it names none. */
function hostnameOf(website: string): string | undefined {
  return URL.parse(website)?.hostname || URL.parse(`https://${website}`)?.hostname || undefined
}

/**
 * Whether an http or https address lies on the site of a merchant's website: on its host, with or without `www.` in front, or
 * on a host below it. Scheme and port do not matter.
 */
export function sharesSite(address: string, website: string): boolean {
  const [host, own] = [URL.parse(address)?.hostname, hostnameOf(website)]
  if (!host || own === undefined) return false
  const site = own.replace(/^www\./, '')
  return host === own || host === site || (site.includes('.') && host.endsWith(`.${site}`))
}
