import { isDeepStrictEqual } from 'node:util'
import { STATUS_CODES } from '../server/node-http.ts'

/** A part of an OpenAPI document, as JSON. */
export type Json = Readonly<Record<string, unknown>>

/** An operation of a document: what notes are chosen by. */
export interface DocumentedOperation {
  /** In upper case. */
  readonly method: string
  /** With parameters in braces: `/merchants/{merchantId}`. */
  readonly path: string
  readonly operationId: string
  readonly tags: readonly string[]
}

/** A header of requests or answers. `required`: no request may lack it, or every answer has it. */
export interface HeaderNote {
  readonly description: string
  readonly schema: Json
  readonly required?: boolean
  readonly example?: unknown
}

/** What one request was, and what was answered, by the status of the answer. */
export interface OperationExample {
  readonly summary?: string
  readonly request?: { readonly body?: unknown; readonly mediaType?: string }
  readonly answers?: Readonly<Record<string, unknown>>
}

/** What a document says that schemas of routes do not. */
export interface DocumentNotes {
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  /** What the service sends to servers of others, by name (OpenAPI 3.1, `webhooks`). */
  readonly webhooks?: Json
  readonly requestHeaders?: (operation: DocumentedOperation) => Readonly<Record<string, HeaderNote>>
  readonly answerHeaders?: (operation: DocumentedOperation, status: string) => Readonly<Record<string, HeaderNote>>
  /** Examples by `operationId`, each with its name. */
  readonly examples?: Readonly<Record<string, Readonly<Record<string, OperationExample>>>>
}

/** Without `type` and one of these, a schema takes null already. */
const RESTRICTING = ['$ref', 'oneOf', 'allOf', 'enum', 'const', 'not']
const LICENSE = { name: 'MIT', identifier: 'MIT' }
const JSON_TYPE = 'application/json'
const METHODS: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'])

/**
 * Adds what schemas of routes do not say to an OpenAPI document: servers, tags, license, webhooks, headers and examples.
 * @returns a new document
 * @throws Error when two operations have the same id, an operation has none, or an example belongs to no operation, or a header
 * has two descriptions
 */
export function completeDocument<Document extends object>(document: Document, notes: DocumentNotes): Document {
  const { servers, tags, webhooks } = notes
  const copy = structuredClone(document)
  const operations = listOperations(copy)
  requireIds(operations, notes)
  const headers = new Map<string, HeaderNote>()
  for (const { operation, part } of operations) {
    addParameters(operation, part, notes)
    addAnswerHeaders(operation, part, notes, headers)
    addExamples(part, notes.examples?.[operation.operationId] ?? {})
  }
  const info = { ...asRecord(Reflect.get(copy, 'info')), license: LICENSE }
  const components = {
    ...asRecord(Reflect.get(copy, 'components')),
    headers: Object.fromEntries(headers),
    responses: shareErrors(operations),
  }
  return Object.assign(copy, { info, servers, tags, components, ...(webhooks && { webhooks }) })
}

interface OperationPart {
  readonly operation: DocumentedOperation
  /** The operation itself, which the caller may change. */
  readonly part: Record<string, unknown>
}

/** The operations of a document, in its order. */
function listOperations(document: object): readonly OperationPart[] {
  return Object.entries(asRecord(Reflect.get(document, 'paths'))).flatMap(([path, item]) =>
    Object.entries(asRecord(item))
      .filter(([method]) => METHODS.has(method))
      .map(([method, value]) => {
        const part = asRecord(value)
        const { operationId, tags } = part
        const names = Array.isArray(tags) ? tags.map(String) : []
        return {
          operation: { method: method.toUpperCase(), path, operationId: String(operationId ?? ''), tags: names },
          part,
        }
      }),
  )
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

function addParameters(operation: DocumentedOperation, part: Record<string, unknown>, notes: DocumentNotes): void {
  const headers = Object.entries(notes.requestHeaders?.(operation) ?? {})
  const added = headers.map(([name, note]) => ({ name, in: 'header', ...note }))
  if (added.length > 0) part.parameters = [...listOf(part.parameters), ...added]
}

/** Each header stands once in the document, and answers refer to it by its name. */
function addAnswerHeaders(
  operation: DocumentedOperation,
  part: Record<string, unknown>,
  notes: DocumentNotes,
  headers: Map<string, HeaderNote>,
): void {
  for (const [status, value] of Object.entries(asRecord(part.responses))) {
    const answer = asRecord(value)
    const noted = Object.entries(notes.answerHeaders?.(operation, status) ?? {})
    for (const [name, note] of noted) {
      if (!isDeepStrictEqual(headers.get(name) ?? note, note)) throw new Error(`there are two descriptions of ${name}`)
      headers.set(name, note)
    }
    const references = noted.map(([name]) => [name, { $ref: `#/components/headers/${name}` }])
    if (references.length > 0) answer.headers = { ...asRecord(answer.headers), ...Object.fromEntries(references) }
    if (answer.description === 'Default Response') answer.description = describeStatus(status)
  }
}

function describeStatus(status: string): string {
  const text = STATUS_CODES[status] ?? 'Another answer'
  return text === 'OK' ? 'Done' : `${text.slice(0, 1)}${text.slice(1).toLowerCase()}`
}

function addExamples(part: Record<string, unknown>, examples: Readonly<Record<string, OperationExample>>): void {
  for (const [name, { summary, request, answers = {} }] of Object.entries(examples)) {
    const add = (owner: unknown, mediaType: string, value: unknown) => {
      const content = asRecord(asRecord(owner).content)[mediaType]
      if (!isRecord(content)) throw new Error(`${part.operationId} has no ${mediaType} for the example ${name}`)
      content.examples = { ...asRecord(content.examples), [name]: { ...(summary && { summary }), value } }
    }
    if (request?.body !== undefined) add(part.requestBody, request.mediaType ?? JSON_TYPE, request.body)
    for (const [status, value] of Object.entries(answers)) add(asRecord(part.responses)[status], JSON_TYPE, value)
  }
}

/** Lets operations refer to the answer with an error that most of them have, by its status. Other answers stay where they are. */
function shareErrors(operations: readonly OperationPart[]): Json {
  const shared: Record<string, unknown> = {}
  for (const { part } of operations) {
    const responses = asRecord(part.responses)
    for (const status of Object.keys(responses).filter((each) => each >= '400')) {
      const name = `Error${status}`
      shared[name] ??= responses[status]
      if (isDeepStrictEqual(shared[name], responses[status]))
        responses[status] = { $ref: `#/components/responses/${name}` }
    }
  }
  return shared
}

/** Says of each member of a JSON body that is not required that it may be null, for services where null counts as absent. */
export function allowNull<Document extends object>(document: Document): Document {
  const copy = structuredClone(document)
  for (const { part } of listOperations(copy)) {
    const { schema } = asRecord(asRecord(asRecord(part.requestBody).content)[JSON_TYPE])
    for (const form of [asRecord(schema), ...listOf(asRecord(schema).anyOf), ...listOf(asRecord(schema).oneOf)]) {
      const members = asRecord(asRecord(form).properties)
      const needed = namesNeeded(asRecord(form))
      for (const [name, member] of Object.entries(members)) {
        if (!needed.includes(name)) members[name] = orNull(asRecord(member))
      }
    }
  }
  return copy
}

/** The members that a schema needs, in each of its alternatives too. An alternative that describes a member itself says enough. */
function namesNeeded({ required, anyOf, oneOf }: Record<string, unknown>): readonly unknown[] {
  const alternatives = [...listOf(anyOf), ...listOf(oneOf)].map(asRecord).flatMap((each) => {
    const described = asRecord(each.properties)
    return listOf(each.required).filter((name) => !Object.hasOwn(described, String(name)))
  })
  return [...listOf(required), ...alternatives]
}

function orNull(schema: Record<string, unknown>): Json {
  const { type, enum: values, const: value, description } = schema
  if (type === 'null') return schema
  if (typeof type === 'string' && value === undefined) {
    return { ...schema, type: [type, 'null'], ...(Array.isArray(values) && { enum: [...values, null] }) }
  }
  if (Array.isArray(schema.anyOf)) {
    const hasNull = schema.anyOf.some((each) => asRecord(each).type === 'null')
    return hasNull ? schema : { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] }
  }
  return !RESTRICTING.some((name) => name in schema)
    ? schema
    : { ...(description !== undefined && { description }), anyOf: [schema, { type: 'null' }] }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A value as an object that may be changed; an empty one for anything else. */
function asRecord(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {}
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
