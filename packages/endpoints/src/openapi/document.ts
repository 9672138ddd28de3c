import { z } from 'zod'
import type { Core } from '../core.ts'
import { basePath, patternOf, placeNames } from '../routing/pattern.ts'
import type { Endpoint, Route } from '../routing/table.ts'
import { routeFor, VERBS, type Verb } from '../routing/verbs.ts'
import type { DocumentInfo, DocumentServer, JsonSchema, OpenApiDocument, Operation } from './document-types.ts'
import { buildOperation, preflightOperation } from './operation.ts'
import { SchemaComponents } from './schemas.ts'

/** The title, version and servers of a document (OpenAPI 3.1, Info Object and Server Object). */
export interface DocumentHead {
  readonly info: DocumentInfo
  readonly servers: readonly DocumentServer[] | undefined
}

/**
 * Describes every handler that is not hidden, with a path for each number of its positionals.
 * @throws Error when two operations have one id
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

/** A path of the document: an endpoint with a number of positionals. */
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
    // Two verbs may name a positional differently. The path uses the name of the first verb.
    const [first] = calls
    if (first === undefined) return []
    const [, route] = first
    return [{ endpoint, pattern: patternOf(route, count), places: placeNames(route).slice(0, count), calls }]
  })
}

function documentedRoute(endpoint: Endpoint, verb: Verb, count: number): Route | undefined {
  // Every path answers HEAD and OPTIONS by itself, so the document lists only those that a controller handles.
  if ((verb === 'HEAD' || verb === 'OPTIONS') && !endpoint.routes.has(verb)) return undefined
  const route = routeFor(endpoint, verb, count)
  return route === undefined || route.spec?.hidden || count > route.binding.places ? undefined : route
}

/** The name of an operation in generated clients: `GET /foo/{bar}` is `getFooWithBar`. */
function operationId(verb: string, base: string, places: readonly string[]): string {
  return [verb.toLowerCase(), camel(base), places.length === 0 ? '' : 'With', ...places.map(camel)].join('')
}

function camel(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/)
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

const UNKNOWN = { title: 'API', version: '0.0.0' }
const Manifest = z
  .object({
    name: z.string().catch(UNKNOWN.title),
    version: z.string().catch(UNKNOWN.version),
    description: z.string().optional().catch(undefined),
  })
  .transform(({ name, description, ...rest }) => ({
    title: name,
    ...rest,
    ...(description === undefined ? {} : { description }),
  }))

/** Name and version of the nearest package.json in or above a folder. Runtimes without files get a default. */
export function packageInfo(dir: string | undefined): DocumentInfo {
  if (typeof process === 'undefined' || process.getBuiltinModule === undefined) return UNKNOWN
  const { existsSync, readFileSync } = process.getBuiltinModule('node:fs')
  const { dirname, join, resolve } = process.getBuiltinModule('node:path')
  for (let folder = resolve(dir ?? '.'), above = ''; folder !== above; above = folder, folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (existsSync(file)) return Manifest.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data ?? UNKNOWN
  }
  return UNKNOWN
}
