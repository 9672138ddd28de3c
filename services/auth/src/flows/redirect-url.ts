/** Ordered parameters of a fragment or query. */
export type RedirectParameters = Readonly<Record<string, string>>

/**
 * Appends parameters as a fragment, percent-encoded, in their order (reference: Verification redirects). Keeps an existing
 * fragment.
 */
export function withFragment(redirectTo: string, parameters: RedirectParameters): string {
  const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return `${normalise(redirectTo).href}#${pairs.join('&')}`
}

/**
 * Sets the fragment to parameters, form-encoded: a space becomes `+` (reference: Error redirects). It replaces an
 * existing fragment, because clients read the whole fragment as parameters and would find no error in `#old#error=…`.
 */
export function withFormFragment(redirectTo: string, parameters: RedirectParameters): string {
  const url = normalise(redirectTo)
  url.hash = new URLSearchParams(parameters).toString()
  return url.href
}

/** Sets query parameters, form-encoded. Replaces parameters of the same name and leaves all others as they are. */
export function withQuery(redirectTo: string, parameters: RedirectParameters): string {
  const url = normalise(redirectTo)
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

/** The URL as browsers read it: in ASCII, without line breaks, with a path of at least `/`. */
function normalise(redirectTo: string): URL {
  const url = new URL(redirectTo)
  if (url.pathname === '') url.pathname = '/'
  return url
}
