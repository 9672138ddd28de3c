/** The verbs that a URL can answer, in the order of the header `Allow`. */
export const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

export type Verb = (typeof VERBS)[number]

const verbs: ReadonlySet<string> = new Set(VERBS)

/** Returns whether a handler can have the name of this HTTP method. HTTP methods are case-sensitive. */
export function isVerb(method: string): method is Verb {
  return verbs.has(method)
}

/** An object with a minimum and a maximum number of positionals. */
export interface Counted {
  readonly binding: { readonly min: number; readonly max: number }
}

/** The handlers of each verb of a URL. If a verb has several handlers, the number of positionals decides. */
export interface VerbRoutes<R extends Counted> {
  readonly routes: ReadonlyMap<Verb | 'ANY', readonly R[]>
}

/**
 * Returns the route of a verb for this number of positionals, or `undefined` if there is none. HEAD falls back to GET. All verbs
 * except OPTIONS fall back to ANY.
 */
export function routeFor<R extends Counted>(endpoint: VerbRoutes<R>, verb: Verb, count: number): R | undefined {
  for (const route of endpoint.routes.get(verb) ?? anyOf(endpoint, verb)) {
    if (count >= route.binding.min && count <= route.binding.max) return route
  }
  return verb === 'HEAD' ? routeFor(endpoint, 'GET', count) : undefined
}

function anyOf<R extends Counted>({ routes }: VerbRoutes<R>, verb: Verb): readonly R[] {
  return (verb === 'OPTIONS' || verb === 'HEAD' ? undefined : routes.get('ANY')) ?? []
}

/** Returns the verbs for this number of positionals, in the order of `Allow`. Empty if the URL does not exist. */
export function allowedVerbs(endpoint: VerbRoutes<Counted>, count: number): readonly Verb[] {
  const allowed = VERBS.filter((verb) => routeFor(endpoint, verb, count) !== undefined)
  return allowed.length === 0 || allowed.includes('OPTIONS') ? allowed : [...allowed, 'OPTIONS']
}
