import formbody from '@fastify/formbody'
import type {
  FastifyPluginAsync,
  FastifyPluginOptions,
  FastifyRequest,
  FastifyTypeProvider,
  RawServerDefault,
} from 'fastify'
import fp from 'fastify-plugin'
import { z } from 'zod'
import { type Problem, type RequestInput, valid } from '../access/require-access.ts'
import { endpointNotFound, invalidFields, unsupportedMediaType } from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import type { PathValues } from '../requests/fields.ts'
import { type Parsed, parseForm } from '../requests/parse-form.ts'
import { InvalidInput, ParsedInput, validateInput } from '../requests/validate-input.ts'

/**
 * Reads bodies (JSON and forms) and query strings (reference: Bodies and queries). An error in them is stored in
 * `request.problem` and thrown later, because the key, the path and the access are checked before the values. Handlers get body
 * and query as `RequestInput`, which contains the values or the problem. Register this plugin before any route.
 */
export const readRequest = fp(
  async (app) => {
    app.decorateRequest('problem')
    app.decorateRequest('input', {
      getter(this: FastifyRequest) {
        return toInput(this, undefined)
      },
    })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (request, body, done) => {
      done(null, takeBody(request, body))
    })
    // The library's parser gets no headers. The `preValidation` hook parses the text with them.
    await app.register(formbody, { parser: (text) => ({ formText: text }) })
    app.setValidatorCompiler<z.ZodType>(
      ({ schema }) =>
        (data: unknown) =>
          validateInput(schema, data),
    )
    // Invalid values then reach `preHandler` as `validationError`, which becomes the problem.
    app.addHook('onRoute', (route) => {
      route.attachValidation = true
      if (route.schema?.body) route.schema.consumes ??= documentedTypes(route.schema.tags)
      // Hooks of plugins also read values and find problems. They run before the hooks of the route, so the last hook of the
      // route passes the values to the handler. Remove an earlier `handOver`, because the HEAD route inherits the hooks of GET.
      const others = [route.preHandler ?? []].flat().filter((hook) => hook !== handOver)
      route.preHandler = [...others, handOver]
    })
    app.addHook('onRequest', ({ headers }, _reply, done) => {
      // Fastify would respond to a malformed media type with 415 before the key is checked.
      if (headers['content-type'] !== undefined && !MEDIA_TYPE.test(headers['content-type'])) {
        headers['content-type'] = 'application/octet-stream'
      }
      done()
    })
    app.addHook('preValidation', (request, _reply, done) => {
      const { body } = request
      if (body && !(body instanceof ParsedInput)) request.body = takeBody(request, FormText.parse(body).formText)
      if (request.routeOptions.schema?.querystring) request.query = takeQuery(request)
      done()
    })
    app.addHook('preHandler', (request, _reply, done) => {
      const error = request.validationError
      if (error === undefined) return done()
      // If the schema itself throws, nothing was validated. No handler may then get the values.
      if (!(error instanceof InvalidInput)) return done(error)
      const { fields, values } = error
      request.problem ??= { stage: 'validation', error: invalidFields(fields), fields, values }
      return done()
    })
  },
  { name: 'read-request' },
)

/** Routes whose handlers get the body and the query as `RequestInput`: the values, or the problem of the request. */
export type Routes = FastifyPluginAsync<FastifyPluginOptions, RawServerDefault, InputTypes>

/** Types request values by the schemas of the route. A handler that ignores the verdict does not compile. */
interface InputTypes extends FastifyTypeProvider {
  readonly validator: this['schema'] extends z.ZodType ? InputOrPath<z.output<this['schema']>> : unknown
  readonly serializer: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown
}

/** The tuple prevents distribution over a union, because the values of one request are the whole union. */
type InputOrPath<Values> = [Values] extends [PathValues] ? Values : RequestInput<Values>

/** The values of a request that needs no access check. @throws the error of a refused request */
export function requireValues<Values>(input: RequestInput<Values>): Values {
  if (input.verdict === 'refused') throw input.problem.error
  return input.values
}

/** The object that a part of the path names. @throws endpointNotFound if `found` is `undefined` */
export function requireEndpoint<Found>(found: Found | undefined): Found {
  if (found === undefined) throw endpointNotFound()
  return found
}

/**
 * Returns the media types for the API document. Every route reads JSON and forms. But browsers send only forms to pages, and
 * clients of the operator API send only JSON. If a route lists both types, generated clients choose by the type of the body. Some
 * generators then write a client that cannot be imported.
 */
function documentedTypes(tags: readonly string[] = []): string[] {
  if (tags.includes('Pages')) return [FORM]
  return tags.includes('Operators') ? [JSON_TYPE] : [JSON_TYPE, FORM]
}

/** Passes the values or the problem to the handler. Must be the last hook, because no plugin can add a problem afterwards. */
function handOver(request: FastifyRequest, _reply: unknown, done: () => void): void {
  const { schema } = request.routeOptions
  if (schema?.body) request.body = toInput(request, request.body)
  if (schema?.querystring) request.query = toInput(request, request.query)
  done()
}

function toInput<Values>({ problem }: Pick<FastifyRequest, 'problem'>, values: Values): RequestInput<Values> {
  return problem === undefined ? valid(values) : { verdict: 'refused', problem }
}

const JSON_TYPE = 'application/json'
const FORM = 'application/x-www-form-urlencoded'
const MEDIA_TYPE = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(;|$)/
const JSON_DEPTH_MAX = 20
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/** A form as `@fastify/formbody` passes it on. It replaces bytes that are not UTF-8 with U+FFFD. */
const FormText = z.object({ formText: z.string() })

function takeBody(request: FastifyRequest, body: Buffer | string): ParsedInput {
  const read = readBody(request, body)
  switch (read.verdict) {
    case 'read':
      return read.value
    case 'malformed':
      request.problem = { stage: 'parse', error: invalidFields(read.errors) }
      break
    case 'unsupported':
      request.problem = { stage: 'parse', error: unsupportedMediaType() }
  }
  return new ParsedInput('json', {})
}

/** A body, or why it cannot be read. `unsupported`: neither JSON nor a form, compressed, or not in UTF-8. */
type ReadBody = Parsed<ParsedInput> | { readonly verdict: 'unsupported' }

/** Reads a body by its media type (reference: Media types). */
function readBody({ headers }: FastifyRequest, body: Buffer | string): ReadBody {
  const type = mediaType(headers['content-type'])
  if (type === undefined && body.length === 0) return { verdict: 'read', value: new ParsedInput('json', {}) }
  if (type === undefined) return { verdict: 'unsupported' }
  if (headers['content-encoding'] !== undefined && body.length > 0) return { verdict: 'unsupported' }
  const text = decode(body)
  if (text === undefined) return refuseBody(FIELD_TEXTS.notUtf8)
  const parsed = type === 'json' ? parseJson(text) : parseForm(text)
  switch (parsed.verdict) {
    case 'read':
      return { verdict: 'read', value: new ParsedInput(type, parsed.value) }
    case 'malformed':
      return parsed
  }
}

/** Returns `undefined` for any other media type, and for any character set except UTF-8. */
function mediaType(header: string | undefined): 'json' | 'form' | undefined {
  const [type = '', ...parameters] = (header ?? '').toLowerCase().split(';')
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith('charset='))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) return undefined
  const name = type.trim()
  if (name === FORM) return 'form'
  return name === JSON_TYPE || /^application\/[^/+\s]+\+json$/.test(name) ? 'json' : undefined
}

function decode(body: Buffer | string): string | undefined {
  // Forms percent-encode U+FFFD. An unencoded U+FFFD therefore stands for bytes that were not UTF-8.
  if (typeof body === 'string') return body.includes('\uFFFD') ? undefined : body.replace(/^\uFEFF/, '')
  try {
    return UTF8.decode(body)
  } catch {
    return undefined
  }
}

/**
 * Reads a JSON body. The top level must be an object, with at most 20 levels of nesting. Fields that reach a prototype are
 * refused. An empty text counts as an empty object (reference: JSON bodies).
 */
function parseJson(text: string): Parsed<object> {
  if (text === '') return { verdict: 'read', value: {} }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuseBody(FIELD_TEXTS.notJson)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuseBody(FIELD_TEXTS.notObject)
  const problem = jsonProblem(value, 1)
  return problem === undefined ? { verdict: 'read', value } : refuseBody(problem)
}

function jsonProblem(value: unknown, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > JSON_DEPTH_MAX) return FIELD_TEXTS.tooDeep({ max: JSON_DEPTH_MAX })
  for (const [key, field] of Object.entries(value)) {
    if (key === '__proto__' || (key === 'constructor' && hasPrototype(field))) return FIELD_TEXTS.forbiddenField(key)
    const problem = jsonProblem(field, depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

function hasPrototype(field: unknown): boolean {
  return typeof field === 'object' && field !== null && Object.hasOwn(field, 'prototype')
}

function refuseBody(message: string): Parsed<never> {
  return { verdict: 'malformed', errors: [{ field: 'body', message, code: 'FORMAT' }] }
}

function takeQuery(request: FastifyRequest): ParsedInput {
  const at = request.url.indexOf('?')
  const parsed = parseForm(at < 0 ? '' : request.url.slice(at + 1))
  if (parsed.verdict === 'read') return new ParsedInput('query', parsed.value)
  const fields = parsed.errors.map((error) => (error.field === 'body' ? { ...error, field: 'query' } : error))
  request.problem ??= { stage: 'validation', error: invalidFields(fields) }
  return new ParsedInput('query', {})
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The reason why the request is refused after its access check. Plugins that find a problem set it. */
    problem: Problem | undefined
    /** The input of a request without body and query: no values, or the problem for which it is refused. */
    readonly input: RequestInput<undefined>
  }
}
