import type { ZodType } from 'zod'
import { isOptional } from '../binding/bind-declaration.ts'
import { knownNames, objectOf } from '../binding/closed-schema.ts'
import type { Route } from '../routing/table.ts'
import type { Verb } from '../routing/verbs.ts'
import { buildResponses } from './responses.ts'
import type { JsonSchema, SchemaComponents } from './schemas.ts'

/** One operation of the document. */
export interface Operation {
  readonly operationId: string
  readonly [key: string]: unknown
}

/** A handler at one of its paths. */
export interface DocumentedCall {
  readonly id: string
  readonly verb: Verb
  readonly route: Route
  /** Names of the positionals in the path. */
  readonly places: readonly string[]
}

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

/** What a browser asks before a page of another origin may call. */
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

/** Where nothing else is said, an operation belongs to its module. */
function tagsOf(names: readonly string[]): readonly string[] {
  return names.length === 0 ? ['root'] : names
}

/** All of the guards must be passed, so all schemes are one requirement. */
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

/** Keywords go into the query where there is no body, or the body is something else. */
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
  // A file cannot be sent in any other form.
  const types = JSON.stringify(schema).includes('"format":"binary"')
    ? ['multipart/form-data']
    : ['application/json', 'application/x-www-form-urlencoded']
  const required = Array.isArray(schema.required) && schema.required.length > 0
  return { required, content: Object.fromEntries(types.map((type) => [type, { schema }])) }
}

function keywordsSchema({ spec, binding }: Route, components: SchemaComponents): JsonSchema | undefined {
  if (spec?.keywords !== undefined) return closed(spec.keywords, components.refer(spec.keywords, 'input'))
  if (binding.keywords === undefined) return undefined
  const { known, required, open } = binding.keywords
  const properties = Object.fromEntries([...known].map((name) => [name, {}]))
  return { type: 'object', properties, required, additionalProperties: open }
}

/** Unknown keywords are refused where nothing is said of them. */
function closed(keywords: ZodType, schema: JsonSchema): JsonSchema | undefined {
  const object = objectOf(keywords)
  if (object === undefined && knownNames(keywords) !== undefined) return { ...schema, unevaluatedProperties: false }
  if (object === undefined || object.def.catchall !== undefined || '$ref' in schema) return schema
  return Object.keys(object.shape).length === 0 ? undefined : { ...schema, additionalProperties: false }
}
