import { isDeepStrictEqual } from 'node:util'
import { STATUS_CODES } from '../server/node-http.ts'
import {
  asPart,
  type DocumentedOperation,
  type DocumentPart,
  isPart,
  listOf,
  listOperations,
  type OperationPart,
  writeForClients,
} from './client-schemas.ts'

export type Json = Readonly<Record<string, unknown>>

/** A header of requests or answers. `required` means that every request must have it, or that every answer has it. */
export interface HeaderNote {
  readonly description: string
  readonly schema: Json
  readonly required?: boolean
  readonly example?: unknown
}

/** The examples of an operation: a request, and its answers by status. */
export interface OperationExample {
  readonly summary?: string
  readonly request?: { readonly body?: unknown; readonly mediaType?: string }
  readonly answers?: Readonly<Record<string, unknown>>
}

export interface DocumentNotes {
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  /** The requests that the service sends to other servers, by name (OpenAPI 3.1, `webhooks`). */
  readonly webhooks?: Json
  /** The descriptions of path and query parameters by name, for parameters that the route schema does not describe. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly requestHeaders?: (operation: DocumentedOperation) => Readonly<Record<string, HeaderNote>>
  readonly answerHeaders?: (operation: DocumentedOperation, status: string) => Readonly<Record<string, HeaderNote>>
  readonly examples?: Readonly<Record<string, Readonly<Record<string, OperationExample>>>>
}

/** A schema without `type` and without any of these keywords already accepts `null`. */
const RESTRICTING = ['$ref', 'oneOf', 'allOf', 'enum', 'const', 'not']
const LICENSE = { name: 'MIT', identifier: 'MIT' }
const JSON_TYPE = 'application/json'

/**
 * Adds what route schemas do not contain to an OpenAPI document: servers, tags, license, webhooks, headers, descriptions and
 * examples.
 * @returns a new document
 * @throws Error if an operation has no id or shares its id with another, if an example belongs to no operation, if a header has
 * two descriptions, or if a parameter has none
 */
export function completeDocument<Document extends object>(document: Document, notes: DocumentNotes): Document {
  const { servers, tags, webhooks } = notes
  const copy = structuredClone(document)
  const operations = listOperations(copy)
  requireIds(operations, notes)
  const headers = new Map<string, HeaderNote>()
  for (const { operation, part } of operations) {
    describeParameters(operation, part, notes)
    addHeaders(operation, part, notes)
    addAnswerHeaders(operation, part, notes, headers)
    addExamples(part, notes.examples?.[operation.operationId] ?? {})
  }
  const info = { ...asPart(Reflect.get(copy, 'info')), license: LICENSE }
  const components = {
    ...asPart(Reflect.get(copy, 'components')),
    headers: Object.fromEntries(headers),
    responses: shareErrors(operations),
  }
  const complete = Object.assign(copy, { info, servers, tags, components, ...(webhooks && { webhooks }) })
  writeForClients(complete)
  return complete
}

function requireIds(operations: readonly OperationPart[], { tags, examples = {} }: DocumentNotes): void {
  const ids = operations.map(({ operation }) => operation.operationId)
  const nameless = operations.find(({ operation }) => operation.operationId === '')?.operation
  if (nameless !== undefined) throw new Error(`${nameless.method} ${nameless.path} has no operationId`)
  const repeated = ids.find((id, at) => ids.indexOf(id) !== at)
  if (repeated !== undefined) throw new Error(`two operations have the operationId ${repeated}`)
  const stray = Object.keys(examples).find((id) => !ids.includes(id))
  if (stray !== undefined) throw new Error(`there are examples of ${stray}, which is no operation`)
  const known = new Set(tags.map(({ name }) => name))
  const other = operations.find(({ operation }) => !operation.tags.some((tag) => known.has(tag)))?.operation
  if (other !== undefined) throw new Error(`${other.method} ${other.path} has no tag of the document`)
}

/** Describes the parameters of a route. A path parameter such as `merchantId` gets the description "The id of the merchant". */
function describeParameters(
  { method, path }: DocumentedOperation,
  part: DocumentPart,
  { parameters = {} }: DocumentNotes,
): void {
  for (const parameter of listOf(part.parameters).map(asPart)) {
    const name = String(parameter.name)
    const [, noun] = (parameter.in === 'path' && /^(\w+)Id$/.exec(name)) || []
    const known = parameter.description ?? asPart(parameter.schema).description ?? parameters[name]
    if (known === undefined && noun === undefined) throw new Error(`${method} ${path} does not describe ${name}`)
    if (asPart(parameter.schema).description === undefined) parameter.description = known ?? `The id of the ${noun}`
  }
}

function addHeaders(operation: DocumentedOperation, part: DocumentPart, notes: DocumentNotes): void {
  const headers = Object.entries(notes.requestHeaders?.(operation) ?? {})
  const added = headers.map(([name, note]) => ({ name, in: 'header', ...note }))
  if (added.length > 0) part.parameters = [...listOf(part.parameters), ...added]
}

/** Adds each header once to the document. Answers refer to it by name. */
function addAnswerHeaders(
  operation: DocumentedOperation,
  part: DocumentPart,
  notes: DocumentNotes,
  headers: Map<string, HeaderNote>,
): void {
  for (const [status, value] of Object.entries(asPart(part.responses))) {
    const answer = asPart(value)
    const noted = Object.entries(notes.answerHeaders?.(operation, status) ?? {})
    for (const [name, note] of noted) {
      if (!isDeepStrictEqual(headers.get(name) ?? note, note)) throw new Error(`there are two descriptions of ${name}`)
      headers.set(name, note)
    }
    const references = noted.map(([name]) => [name, { $ref: `#/components/headers/${name}` }])
    if (references.length > 0) answer.headers = { ...asPart(answer.headers), ...Object.fromEntries(references) }
    if (answer.description === 'Default Response') answer.description = describeStatus(status)
  }
}

function describeStatus(status: string): string {
  const text = STATUS_CODES[status] ?? 'Another answer'
  return text === 'OK' ? 'Done' : `${text.slice(0, 1)}${text.slice(1).toLowerCase()}`
}

function addExamples(part: DocumentPart, examples: Readonly<Record<string, OperationExample>>): void {
  for (const [name, { summary, request, answers = {} }] of Object.entries(examples)) {
    const add = (owner: unknown, mediaType: string, value: unknown) => {
      const content = asPart(asPart(owner).content)[mediaType]
      if (!isPart(content)) throw new Error(`${part.operationId} has no ${mediaType} for the example ${name}`)
      content.examples = { ...asPart(content.examples), [name]: { ...(summary && { summary }), value } }
    }
    if (request?.body !== undefined) add(part.requestBody, request.mediaType ?? JSON_TYPE, request.body)
    for (const [status, value] of Object.entries(answers)) add(asPart(part.responses)[status], JSON_TYPE, value)
  }
}

/** Shares the most common error answer of each status among the operations. Other answers stay in their operations. */
function shareErrors(operations: readonly OperationPart[]): Json {
  const all = operations.map(({ part }) => asPart(part.responses))
  const errors = all.flatMap((responses) => Object.keys(responses)).filter((status) => status >= '400')
  const shared = [...new Set(errors)].map((status) => {
    const owners = all.filter((responses) => status in responses)
    const alike = Map.groupBy(owners, (responses) => JSON.stringify(responses[status]))
    const [usual = []] = [...alike.values()].sort((a, b) => b.length - a.length)
    const answer = usual[0]?.[status]
    for (const responses of usual) responses[status] = { $ref: `#/components/responses/Error${status}` }
    return [`Error${status}`, answer]
  })
  return Object.fromEntries(shared)
}

/** Marks each optional member of a JSON body as nullable, for services where `null` counts as absent. */
export function allowNull<Document extends object>(document: Document): Document {
  const copy = structuredClone(document)
  for (const { part } of listOperations(copy)) {
    const { schema } = asPart(asPart(asPart(part.requestBody).content)[JSON_TYPE])
    for (const form of [asPart(schema), ...listOf(asPart(schema).anyOf), ...listOf(asPart(schema).oneOf)]) {
      const members = asPart(asPart(form).properties)
      const needed = namesNeeded(asPart(form))
      for (const [name, member] of Object.entries(members)) {
        if (!needed.includes(name)) members[name] = orNull(asPart(member))
      }
    }
  }
  return copy
}

/** Returns the members that a schema requires, also in its alternatives. Skips a member that an alternative describes itself. */
function namesNeeded({ required, anyOf, oneOf }: DocumentPart): readonly unknown[] {
  const alternatives = [...listOf(anyOf), ...listOf(oneOf)].map(asPart).flatMap((each) => {
    const described = asPart(each.properties)
    return listOf(each.required).filter((name) => !Object.hasOwn(described, String(name)))
  })
  return [...listOf(required), ...alternatives]
}

function orNull(schema: DocumentPart): Json {
  const { type, enum: values, const: value, description } = schema
  if (type === 'null') return schema
  if (typeof type === 'string' && value === undefined) {
    return { ...schema, type: [type, 'null'], ...(Array.isArray(values) && { enum: [...values, null] }) }
  }
  if (Array.isArray(schema.anyOf)) {
    const hasNull = schema.anyOf.some((each) => asPart(each).type === 'null')
    return hasNull ? schema : { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] }
  }
  return !RESTRICTING.some((name) => name in schema)
    ? schema
    : { ...(description !== undefined && { description }), anyOf: [schema, { type: 'null' }] }
}
