/** The verbs that a URL can answer, in the order of the header `Allow`. */
export const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

export type Verb = (typeof VERBS)[number]

const verbs: ReadonlySet<string> = new Set(VERBS)

/** Whether a method of a request is one that a handler may be named after. HTTP methods are case-sensitive. */
export function isVerb(method: string): method is Verb {
  return verbs.has(method)
}

/** Something that takes a number of positionals. */
export interface Counted {
  readonly binding: { readonly min: number; readonly max: number }
}

/** The handlers of each verb of a URL. Several stand for one verb when the number of positionals decides. */
export interface VerbRoutes<R extends Counted> {
  readonly routes: ReadonlyMap<Verb | 'ANY', readonly R[]>
}

/**
 * The route of a verb that takes this many positionals; undefined when there is none. HEAD falls back to GET, and all verbs but
 * OPTIONS to ANY.
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

/** The verbs that take this many positionals, in the order of `Allow`. Empty when the URL does not exist. */
export function allowedVerbs(endpoint: VerbRoutes<Counted>, count: number): readonly Verb[] {
  const allowed = VERBS.filter((verb) => routeFor(endpoint, verb, count) !== undefined)
  return allowed.length === 0 || allowed.includes('OPTIONS') ? allowed : [...allowed, 'OPTIONS']
}
