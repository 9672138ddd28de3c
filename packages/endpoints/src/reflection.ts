import type { Core } from './core.ts'
import { CallError } from './errors.ts'
import { patternOf } from './routing/pattern.ts'
import { allowedVerbs, resolve } from './routing/resolve.ts'
import type { Route } from './routing/table.ts'
import { parseTarget } from './routing/target.ts'

/** One handler, told to people. */
export interface ListedRoute {
  readonly verb: string
  /** With all the positionals that it may take: `/foo/bar/{che}`. */
  readonly pattern: string
  /** How many of them a request must give. */
  readonly required: number
  /** Whether the last stands for any number of them. */
  readonly rest: boolean
  readonly module: string
  readonly className: string
  readonly handler: string
  /** File, or key of the module map. */
  readonly source: string
}

export function listRoutes({ table }: Pick<Core, 'table'>): readonly ListedRoute[] {
  return table.endpoints.flatMap(({ routes }) => [...routes.values()].flat().map(listed))
}

function listed(route: Route): ListedRoute {
  const { verb, className, handler, source, modulePath, binding } = route
  const pattern = patternOf(route, binding.places)
  const counts = { required: binding.min, rest: binding.max === Number.POSITIVE_INFINITY }
  return { verb, pattern, ...counts, module: modulePath.join('.'), className, handler, source }
}

/** Where a request would go. */
export interface ResolvedPath {
  /** 200 when a handler would be called; else what would be answered without one: 204, 400, 404, 405, 414, 501. */
  readonly status: number
  readonly route: ListedRoute | undefined
  readonly positionals: readonly string[]
  /** The verbs of this URL; empty where there is none. */
  readonly allow: readonly string[]
}

export function resolvePath(
  { table, settings }: Pick<Core, 'table' | 'settings'>,
  method: string,
  path: string,
): ResolvedPath {
  const nowhere = { route: undefined, positionals: [], allow: [] }
  try {
    const { parts } = parseTarget(path, settings.allowEncodedSlash)
    const resolution = resolve(table.root, method, parts, settings.canonicalPart)
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
