/** Ordered parameters of a fragment or query. */
export type RedirectParameters = Readonly<Record<string, string>>

/**
 * Appends parameters as a fragment, percent-encoded, in their order (reference: Verification redirects). An existing
 * fragment is kept.
 */
export function withFragment(redirect: string, parameters: RedirectParameters): string {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return `${normalise(redirect).href}#${pairs.join('&')}`
}

/**
 * Sets the fragment to parameters, form-encoded: a space becomes `+` (reference: Error redirects). It replaces an
 * existing fragment, because clients read the whole fragment as parameters and would find no error in `#old#error=…`.
 */
export function withFormFragment(redirect: string, parameters: RedirectParameters): string {
  const url = normalise(redirect)
  url.hash = new URLSearchParams(parameters).toString()
  return url.href
}

/** Sets query parameters, form-encoded, in place of those of the same name. The rest of the query is not touched. */
export function withQuery(redirect: string, parameters: RedirectParameters): string {
  const url = normalise(redirect)
  const kept = url.search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && !Object.hasOwn(parameters, queryName(pair)))
  url.search = [...kept, new URLSearchParams(parameters).toString()].join('&')
  return url.href
}

function queryName(pair: string): string {
  return new URLSearchParams(pair).keys().next().value ?? ''
}

/** As browsers read it: ASCII, no line break, at least `/` as path. */
function normalise(redirect: string): URL {
  const url = new URL(redirect)
  if (url.pathname === '') url.pathname = '/'
  return url
}
