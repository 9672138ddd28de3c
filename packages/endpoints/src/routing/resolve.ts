import type { Settings } from '../config/settings.ts'
import { CallError } from '../errors.ts'
import type { ListedRoute, ResolvedPath } from './listed-route.ts'
import { patternOf } from './pattern.ts'
import type { Endpoint, ModuleNode, Route, RouteTable } from './table.ts'
import { parseTarget } from './target.ts'
import { allowedVerbs, isVerb, routeFor, type Verb } from './verbs.ts'

/** The handler of a request. The rest of the path becomes its positional arguments. */
export interface Found {
  readonly verdict: 'found'
  readonly endpoint: Endpoint
  readonly route: Route
  readonly positionals: readonly string[]
}

/** The result for a method and a path. For `not-found`, `longer` is a route that would answer the verb with more positionals. */
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
 * Resolves a path in the table (reference: Resolution). Follows modules as long as their names match, then classes, then a
 * suffix. The remaining parts are the positionals. It never backtracks.
 * @param canonical converts a part to its URL name; given if other spellings are accepted
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

/** Lists every handler of a table, in the order of the URLs. */
export function listRoutes({ endpoints }: RouteTable): readonly ListedRoute[] {
  return endpoints.flatMap(({ routes }) => [...routes.values()].flat().map(listed))
}

function listed(route: Route): ListedRoute {
  const { verb, className, handler, source, modulePath, binding } = route
  const pattern = patternOf(route, binding.places)
  const counts = { required: binding.min, rest: binding.max === Number.POSITIVE_INFINITY }
  return { verb, pattern, ...counts, module: modulePath.join('.'), className, handler, source }
}

/** Returns the handler that a request would reach, or the status that it would get. Runs no handler. */
export function resolvePath(
  { root }: RouteTable,
  { method, path }: { readonly method: string; readonly path: string },
  settings: Pick<Settings, 'allowEncodedSlash' | 'canonicalPart'>,
): ResolvedPath {
  const nowhere = { route: undefined, positionals: [], allow: [] }
  try {
    const { parts } = parseTarget(path, settings)
    const resolution = resolve(root, method, parts, settings.canonicalPart)
    if (resolution.verdict === 'not-implemented') return { ...nowhere, status: 501 }
    if (resolution.verdict === 'not-found') return { ...nowhere, status: 404 }
    const { endpoint, positionals } = resolution
    const allow = allowedVerbs(endpoint, positionals.length)
    if (resolution.verdict === 'found') return { status: 200, route: listed(resolution.route), positionals, allow }
    return { status: resolution.verdict === 'options' ? 204 : 405, route: undefined, positionals, allow }
  } catch (error) {
    if (error instanceof CallError) return { ...nowhere, status: error.status }
    throw error
  }
}
