/** A route as it was registered: its method and its pattern, for example `/products/:productId`. */
export interface RoutePattern {
  readonly method: string
  readonly url: string
}

const ORDER = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Whether this server knows the verb at all. */
export function isKnownMethod(method: string): boolean {
  return ORDER.some((known) => known === method)
}

/**
 * The methods that the URL with these parts answers, in the order of the `Allow` header; undefined when no route has such a
 * URL. HEAD goes with GET, and OPTIONS with everything.
 */
export function findAllowedMethods(routes: readonly RoutePattern[], parts: readonly string[]): string[] | undefined {
  const methods = new Set(routes.filter(({ url }) => matches(url, parts)).map(({ method }) => method))
  if (methods.size === 0) return undefined
  if (methods.has('GET')) methods.add('HEAD')
  methods.add('OPTIONS')
  return ORDER.filter((method) => methods.has(method))
}

/** Every method that some route answers, in the same order. */
export function listAllMethods(routes: readonly RoutePattern[]): string[] {
  const methods = new Set(['OPTIONS', ...routes.map(({ method }) => method)])
  if (methods.has('GET')) methods.add('HEAD')
  return ORDER.filter((method) => methods.has(method))
}

function matches(url: string, parts: readonly string[]): boolean {
  const pattern = url.split('/').filter((part) => part !== '')
  return pattern.length === parts.length && pattern.every((part, at) => part.startsWith(':') || part === parts[at])
}
