import type { Endpoint, ModuleNode, Route } from './table.ts'
import { isVerb, VERBS, type Verb } from './verbs.ts'

export interface Found {
  readonly verdict: 'found'
  readonly endpoint: Endpoint
  readonly route: Route
  readonly positionals: readonly string[]
}

/** What a method and a path lead to. Where they lead nowhere, `longer` answers the verb with more positionals. */
export type Resolution =
  | Found
  | {
      readonly verdict: 'options' | 'not-allowed'
      readonly endpoint: Endpoint
      readonly positionals: readonly string[]
    }
  | { readonly verdict: 'not-found'; readonly endpoint: Endpoint | undefined; readonly longer?: Route | undefined }
  | { readonly verdict: 'not-implemented' }

/**
 * Walks the table (reference: Resolution): modules as far as they go, then classes, then a suffix. The remaining parts are the
 * positional arguments. The walk never goes back: a module that it entered is not left again.
 * @param canonical spells a part as the table does; given when other spellings are accepted
 */
export function resolve(
  root: ModuleNode,
  method: string,
  parts: readonly string[],
  canonical?: (part: string) => string,
): Resolution {
  if (!isVerb(method)) return { verdict: 'not-implemented' }
  const names = canonical === undefined ? parts : parts.map(canonical)
  let at = 0
  const next = <T>(children: ReadonlyMap<string, T>): T | undefined => {
    const child = at < names.length ? children.get(names[at] ?? '') : undefined
    if (child !== undefined) at += 1
    return child
  }
  let module = root
  for (let child = next(module.modules); child !== undefined; child = next(module.modules)) module = child
  let node = next(module.classes) ?? module.fallback
  if (node === undefined) return { verdict: 'not-found', endpoint: undefined }
  for (let child = next(node.classes); child !== undefined; child = next(node.classes)) node = child
  const endpoint = next(node.suffixes) ?? node
  return choose(endpoint, method, parts.slice(at))
}

function choose(endpoint: Endpoint, verb: Verb, positionals: readonly string[]): Resolution {
  const route = routeFor(endpoint, verb, positionals.length)
  if (route !== undefined) return { verdict: 'found', endpoint, route, positionals }
  if (allowedVerbs(endpoint, positionals.length).length === 0) {
    const longer = endpoint.routes.get(verb)?.find(({ binding }) => binding.min > positionals.length)
    return { verdict: 'not-found', endpoint, longer }
  }
  return { verdict: verb === 'OPTIONS' ? 'options' : 'not-allowed', endpoint, positionals }
}

/** The route of a verb, when it takes this many positionals. HEAD falls back to GET, and all but OPTIONS to ANY. */
export function routeFor(endpoint: Endpoint, verb: Verb, count: number): Route | undefined {
  for (const route of endpoint.routes.get(verb) ?? anyOf(endpoint, verb)) {
    if (count >= route.binding.min && count <= route.binding.max) return route
  }
  return verb === 'HEAD' ? routeFor(endpoint, 'GET', count) : undefined
}

function anyOf({ routes }: Endpoint, verb: Verb): readonly Route[] {
  return (verb === 'OPTIONS' || verb === 'HEAD' ? undefined : routes.get('ANY')) ?? []
}

/** The verbs that take this many positionals, in the order of `Allow`; empty where the URL does not exist. */
export function allowedVerbs(endpoint: Endpoint, count: number): readonly Verb[] {
  const allowed = VERBS.filter((verb) => routeFor(endpoint, verb, count) !== undefined)
  return allowed.length === 0 || allowed.includes('OPTIONS') ? allowed : [...allowed, 'OPTIONS']
}
