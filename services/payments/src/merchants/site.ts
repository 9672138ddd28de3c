/** The name that people know a merchant by: its own, or the host of its website, which may be stored as a URL or as a host. */
export function displayName(name: string | null, website: string): string {
  return name ?? (URL.parse(website)?.host || website)
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
