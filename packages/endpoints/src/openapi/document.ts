import type { Core } from '../core.ts'
import { basePath, patternOf, placeNames } from '../routing/pattern.ts'
import { routeFor } from '../routing/resolve.ts'
import type { Endpoint, Route } from '../routing/table.ts'
import { VERBS, type Verb } from '../routing/verbs.ts'
import { buildOperation, type Operation, preflightOperation } from './operation.ts'
import { operationId } from './operation-id.ts'
import { type JsonSchema, SchemaComponents } from './schemas.ts'

/** Title and version of an API. */
export interface DocumentInfo {
  readonly title: string
  readonly version: string
  readonly description?: string
}

/** Where an API is: an address, or a path such as `/api` where it is mounted below another. */
export interface DocumentServer {
  readonly url: string
  readonly description?: string
}

/** What a document says beside the table. */
export interface DocumentHead {
  readonly info: DocumentInfo
  readonly servers: readonly DocumentServer[] | undefined
}

/** An OpenAPI 3.1 document. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: DocumentInfo
  readonly servers?: readonly DocumentServer[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: JsonSchema; readonly securitySchemes: JsonSchema }
}

/**
 * Describes every handler that is not hidden: a path for each number of positionals that it takes.
 * @throws Error when two operations would have one id.
 */
export function buildDocument(
  { table, settings }: Pick<Core, 'table' | 'settings'>,
  { info, servers }: DocumentHead,
): OpenApiDocument {
  const components = new SchemaComponents(settings)
  const securitySchemes: JsonSchema = {}
  const paths: Record<string, Record<string, Operation>> = {}
  const ids = new Map<string, string>()
  for (const { endpoint, pattern, places, calls } of table.endpoints.flatMap(pathsOf)) {
    const operations: Record<string, Operation> = {}
    paths[pattern] = operations
    const idOf = (verb: Verb): string => {
      const id = operationId(verb, basePath(endpoint), places)
      const twin = ids.get(id)
      if (twin !== undefined) throw new Error(`${verb} ${pattern} and ${twin} would both be the operation ${id}`)
      ids.set(id, `${verb} ${pattern}`)
      return id
    }
    for (const [verb, route] of calls) {
      operations[verb.toLowerCase()] = buildOperation({ id: idOf(verb), verb, route, places }, components)
      for (const { security } of guardsOf(route)) if (security) securitySchemes[security.name] = security.scheme
    }
    if (endpoint.cors !== undefined && operations.options === undefined) {
      operations.options = preflightOperation(idOf('OPTIONS'), endpoint.modulePath, places)
    }
  }
  return {
    openapi: '3.1.0',
    info,
    ...(servers === undefined ? {} : { servers }),
    paths,
    components: { schemas: components.schemas, securitySchemes },
  }
}

function guardsOf({ guards }: Route): Route['guards']['early'] {
  return [...guards.early, ...guards.bound]
}

/** A URL of the document: an endpoint with so many positionals. */
interface DocumentedPath {
  readonly endpoint: Endpoint
  readonly pattern: string
  readonly places: readonly string[]
  readonly calls: readonly (readonly [Verb, Route])[]
}

function pathsOf(endpoint: Endpoint): readonly DocumentedPath[] {
  const longest = Math.max(-1, ...[...endpoint.routes.values()].flat().map(({ binding }) => binding.places))
  return Array.from({ length: longest + 1 }, (_, count) => count).flatMap((count): DocumentedPath[] => {
    const calls = VERBS.flatMap((verb) => {
      const route = documentedRoute(endpoint, verb, count)
      return route === undefined ? [] : [[verb, route] as const]
    })
    // Two verbs may name a place differently; a path has one name for it.
    const [first] = calls
    if (first === undefined) return []
    const [, route] = first
    return [{ endpoint, pattern: patternOf(route, count), places: placeNames(route).slice(0, count), calls }]
  })
}

function documentedRoute(endpoint: Endpoint, verb: Verb, count: number): Route | undefined {
  // HEAD of GET and OPTIONS of everything go without saying.
  if ((verb === 'HEAD' || verb === 'OPTIONS') && !endpoint.routes.has(verb)) return undefined
  const route = routeFor(endpoint, verb, count)
  return route === undefined || route.spec?.hidden || count > route.binding.places ? undefined : route
}
