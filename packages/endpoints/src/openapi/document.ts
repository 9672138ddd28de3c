import { type ZodType, z } from 'zod'
import { isOptional } from '../binding/bind-declaration.ts'
import { knownNames, objectOf } from '../binding/closed-schema.ts'
import type { Core } from '../core.ts'
import { basePath, patternOf, placeNames } from '../routing/pattern.ts'
import type { Endpoint, Route } from '../routing/table.ts'
import { routeFor, VERBS, type Verb } from '../routing/verbs.ts'
import type { DocumentInfo, DocumentServer, JsonSchema, OpenApiDocument, Operation } from './document-types.ts'
import { SchemaComponents } from './schemas.ts'

/** The title, version and servers of a document (OpenAPI 3.1, Info Object and Server Object). */
export interface DocumentHead {
  readonly info: DocumentInfo
  readonly servers: readonly DocumentServer[] | undefined
}

/**
 * Describes every handler that is not hidden. Each possible number of positionals gives a separate path.
 * @throws Error if two operations have the same id
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

/** A path of the document: an endpoint with a given number of positionals. */
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
    // Two verbs may have different names for the same positional. The path uses the name of the first verb.
    const [first] = calls
    if (first === undefined) return []
    const [, route] = first
    return [{ endpoint, pattern: patternOf(route, count), places: placeNames(route).slice(0, count), calls }]
  })
}

function documentedRoute(endpoint: Endpoint, verb: Verb, count: number): Route | undefined {
  // Every path answers HEAD and OPTIONS automatically. The document lists these verbs only if a controller handles them.
  if ((verb === 'HEAD' || verb === 'OPTIONS') && !endpoint.routes.has(verb)) return undefined
  const route = routeFor(endpoint, verb, count)
  return route === undefined || route.spec?.hidden || count > route.binding.places ? undefined : route
}

/** Returns the name of an operation in generated clients. For example, `GET /foo/{bar}` becomes `getFooWithBar`. */
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

/** Returns the name and version of the nearest package.json. Runtimes without a file system get a default. */
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

export interface DocumentedCall {
  readonly id: string
  readonly verb: Verb
  readonly route: Route
  /** The names of the positionals in the path. */
  readonly places: readonly string[]
}

/** Describes one method of one path (OpenAPI 3.1, Operation Object). Adds named schemas to `components`. */
export function buildOperation(call: DocumentedCall, components: SchemaComponents): Operation {
  const { id, route } = call
  const { summary, description, deprecated, tags } = route.spec ?? {}
  const parameters = [...pathParameters(call, components), ...queryParameters(call, components)]
  const requestBody = buildRequestBody(call, components)
  const security = securityOf(route)
  return {
    operationId: id,
    tags: tagsOf(tags ?? route.modulePath),
    ...(summary === undefined ? {} : { summary }),
    ...(description === undefined ? {} : { description }),
    ...(deprecated === undefined ? {} : { deprecated }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: buildResponses(route, components, {
      readsBody: call.verb !== 'GET',
      hasPositionals: call.places.length > 0,
    }),
    ...(security === undefined ? {} : { security: [security] }),
  }
}

/** Describes the preflight request of a browser, for a path with CORS (Fetch Standard, CORS-preflight request). */
export function preflightOperation(id: string, modulePath: readonly string[], places: readonly string[]): Operation {
  const parameters = places.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
  return {
    operationId: id,
    tags: tagsOf(modulePath),
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: {
      204: { description: 'Which origins and verbs are allowed' },
      403: { description: 'This origin is not allowed' },
    },
  }
}

/** Returns the tags of an operation without tags: the name of its module. */
function tagsOf(names: readonly string[]): readonly string[] {
  return names.length === 0 ? ['root'] : names
}

/** A call must pass all guards, so all their schemes form one requirement. */
function securityOf({ guards }: Route): Readonly<Record<string, readonly string[]>> | undefined {
  const schemes = [...guards.early, ...guards.bound].flatMap(({ security }) => security ?? [])
  return schemes.length === 0 ? undefined : Object.fromEntries(schemes.map(({ name, scopes = [] }) => [name, scopes]))
}

function pathParameters({ route, places }: DocumentedCall, components: SchemaComponents): readonly JsonSchema[] {
  const { path = [], rest } = route.spec ?? {}
  return places.map((name, i) => {
    const schema = path[i] ?? rest
    const isRest = route.binding.max === Number.POSITIVE_INFINITY && i === route.binding.places - 1
    return {
      name,
      in: 'path',
      required: true,
      schema: schema === undefined ? { type: 'string' } : components.refer(schema, 'input'),
      ...(isRest ? { 'x-rest': true } : {}),
    }
  })
}

/** Keywords are in the query if they are not in the body. */
function queryParameters(call: DocumentedCall, components: SchemaComponents): readonly JsonSchema[] {
  const { spec, binding } = call.route
  if (takesBody(call) && binding.body === 'keywords') return []
  const declared = Object.entries(objectOf(spec?.keywords)?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(isOptional(schema) ? {} : { required: true }),
    schema: components.refer(schema, 'input'),
  }))
  const reflected = [...(binding.keywords?.known ?? [])].map((name) => ({
    name,
    in: 'query',
    ...(binding.keywords?.required.includes(name) ? { required: true } : {}),
    schema: { type: 'string' },
  }))
  return [...declared, ...reflected]
}

function takesBody({ verb }: DocumentedCall): boolean {
  return verb === 'POST' || verb === 'PUT' || verb === 'PATCH'
}

function buildRequestBody(call: DocumentedCall, components: SchemaComponents): JsonSchema | undefined {
  if (!takesBody(call)) return undefined
  const { binding } = call.route
  if (binding.body === 'raw') return { content: { '*/*': {} } }
  if (binding.body === 'positionals') {
    return {
      content: { 'application/json': { schema: { type: 'array' } }, 'text/plain': { schema: { type: 'string' } } },
    }
  }
  const schema = keywordsSchema(call.route, components)
  if (schema === undefined) return undefined
  // Only a multipart form can contain a file.
  const types = holdsFile(schema, components)
    ? ['multipart/form-data']
    : ['application/json', 'application/x-www-form-urlencoded']
  // A schema without required members may still require at least one member.
  const required =
    (Array.isArray(schema.required) && schema.required.length > 0) || Number(schema.minProperties ?? 0) > 0
  return { required, content: Object.fromEntries(types.map((type) => [type, { schema }])) }
}

/** Returns whether a schema, or a schema that it refers to, contains a file. */
function holdsFile(
  schema: JsonSchema,
  { schemas }: Pick<SchemaComponents, 'schemas'>,
  seen: ReadonlySet<string> = new Set(),
): boolean {
  const text = JSON.stringify(schema)
  if (text.includes('"format":"binary"')) return true
  const names = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name)
  return names.some((name) => {
    const { [name]: named } = schemas
    return named !== undefined && !seen.has(name) && holdsFile(named, { schemas }, new Set([...seen, name]))
  })
}

function keywordsSchema({ spec, binding }: Route, components: SchemaComponents): JsonSchema | undefined {
  if (spec?.keywords !== undefined) return closed(spec.keywords, components.refer(spec.keywords, 'input'))
  if (binding.keywords === undefined) return undefined
  const { known, required, open } = binding.keywords
  const properties = Object.fromEntries([...known].map((name) => [name, {}]))
  return { type: 'object', properties, required, additionalProperties: open }
}

/** Marks in the schema that unknown keywords are refused. */
function closed(keywords: ZodType, schema: JsonSchema): JsonSchema | undefined {
  const object = objectOf(keywords)
  if (object === undefined && knownNames(keywords) !== undefined) return { ...schema, unevaluatedProperties: false }
  if (object === undefined || object.def.catchall !== undefined || '$ref' in schema) return schema
  return Object.keys(object.shape).length === 0 ? undefined : { ...schema, additionalProperties: false }
}

const refusals: Readonly<Record<number, string>> = {
  400: 'Malformed or invalid',
  404: 'There is nothing at this URL',
  406: 'The version is not one of those that are served',
  413: 'The body is too large',
  415: 'The media type of the body is not supported',
  500: 'Unexpected error',
}

/** Returns the statuses of an operation: those of its handler, of its guards, and of the framework. */
function buildResponses(
  route: Route,
  components: SchemaComponents,
  { readsBody, hasPositionals }: { readonly readsBody: boolean; readonly hasPositionals: boolean },
): JsonSchema {
  const errors = new Map<number, string>()
  const refuse = (...statuses: readonly number[]): void => {
    for (const status of statuses) errors.set(status, refusals[status] ?? '')
  }
  // Every operation may answer 400, because the query may contain unknown names.
  refuse(400, 500)
  if (hasPositionals) refuse(404)
  // DELETE accepts no body, but the framework reads and refuses one.
  if (readsBody) refuse(413, 415)
  if (route.versions !== undefined) refuse(406)
  const documented = [...route.guards.early, ...route.guards.bound, route.spec ?? {}]
  for (const { responses = {} } of documented) {
    for (const [status, description] of Object.entries(responses)) errors.set(Number(status), description)
  }
  const content =
    components.error === undefined ? {} : { content: { 'application/json': { schema: components.error } } }
  return {
    ...successes(route, components),
    ...Object.fromEntries(
      [...errors].map(([status, description]) => [status, { description, ...(status < 400 ? {} : content) }]),
    ),
  }
}

function successes(route: Route, components: SchemaComponents): JsonSchema {
  const { returns, status, type, extensionType, spec } = route
  const further = (spec?.types ?? []).map((each) => [each, {}])
  if (returns !== undefined) {
    const schema = components.refer(returns, 'output')
    // The file extension of a class determines the media type only for texts.
    const ownType = type ?? (schema.type === 'string' ? extensionType : undefined) ?? 'application/json'
    const content = { [ownType]: { schema }, ...Object.fromEntries(further) }
    return { [status ?? 200]: { description: 'Success', content } }
  }
  const types = [...(type === undefined ? [] : [[type, {}]]), ...further]
  const content = types.length === 0 ? {} : { content: Object.fromEntries(types) }
  if (status !== undefined) return { [status]: { description: 'Success', ...content } }
  return { 200: { description: 'Success', ...content }, 204: { description: 'Success, with nothing to say' } }
}
