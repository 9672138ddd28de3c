import { type DocumentedOperation, listOperations } from '@trestle/common/documents/client-schemas.ts'
import { completeDocument, type DocumentNotes, type HeaderNote } from '@trestle/common/documents/complete-document.ts'
import { IF_NONE_MATCH, REQUEST_ID } from '@trestle/common/documents/document-headers.ts'
import { Application, type OpenApiDocument } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { ErrorView, errorBody, exampleOfError } from './error-body.ts'
import examples from './openapi-examples.json' with { type: 'json' }
import { VERSION } from './version.ts'

export const endpointOptions = {
  controllerPrefix: new URL('controllers/', import.meta.url),
  errorSchema: ErrorView,
  info: {
    title: 'Trestle inventory',
    version: VERSION,
    description: 'Products with free-form attributes, their stock at locations, movements, reservations, and users.',
  },
  signatures: false,
  strict: true,
} as const

/** Builds the document from the controllers only, without a database. */
export async function buildOpenApi(): Promise<OpenApiDocument> {
  const endpoints = await new Application(endpointOptions).ready()
  const document = endpoints.openapi()
  for (const item of Object.values(document.paths)) for (const operation of Object.values(item)) describe(operation)
  return completeDocument(document, documentNotes)
}

const FORM = 'application/x-www-form-urlencoded'
const Member = z.looseObject({ type: z.unknown() })
type Member = z.output<typeof Member>
const Schema = z.looseObject({ properties: z.record(z.string(), Member).optional() })
const Operation = z.object({
  operationId: z.string(),
  security: z.array(z.unknown()).default([]),
  tags: z.array(z.string()),
  requestBody: z
    .looseObject({ content: z.record(z.string(), z.looseObject({ schema: Schema.optional() })) })
    .optional(),
  responses: z.record(z.string(), z.looseObject({})),
})

/** Adds what no controller states: files, JSON in forms, examples of errors, and refusals before any controller. */
function describe(operation: object): void {
  const { operationId, security, tags, requestBody, responses } = Operation.parse(operation)
  Object.assign(operation, {
    security,
    // The framework uses the name of the module, a part of the URL, as the tag.
    tags: tags.map((tag) => tag.charAt(0).toUpperCase() + tag.slice(1)),
    responses: describeResponses(operationId, {
      ...responses,
      414: { description: 'The URL is too long' },
      431: { description: 'The header of the request is too large' },
    }),
    ...(IMPORTS.has(operationId) && { requestBody: IMPORT_BODY }),
  })
  const form = requestBody?.content[FORM]?.schema
  if (requestBody === undefined || form?.properties === undefined) return
  if (operationId === 'postMovements') {
    Object.assign(operation, { requestBody: { ...requestBody, content: movementContent(requestBody.content, form) } })
    return
  }
  // All form values are text. Attributes are JSON in a string, and booleans may be other words.
  const properties = Object.fromEntries(
    Object.entries(form.properties).map(([name, member]) => [name, describeField(name, member)]),
  )
  const content = {
    ...requestBody.content,
    [FORM]: { schema: { ...form, properties } },
  }
  Object.assign(operation, { requestBody: { ...requestBody, content } })
}

/** Adds a schema and an example to each error, and an example to each file. */
function describeResponses(operationId: string, responses: z.output<typeof Operation>['responses']): object {
  const described = Object.entries(responses).map(([status, response]) => {
    if (status === '200' && operationId in FILES)
      return [status, { ...response, content: addFiles(operationId, response) }]
    if (Number(status) < 400) return [status, response]
    const schema = { $ref: '#/components/schemas/Error' }
    const example = ErrorView.parse(errorBody(exampleOfError({ operationId, status })))
    return [status, { ...response, content: { 'application/json': { schema, example } } }]
  })
  return Object.fromEntries(described)
}

function addFiles(operationId: string, { content }: { readonly content?: unknown }): object {
  const files = Object.entries(FILES[operationId] ?? {})
  return {
    ...z.looseObject({}).parse(content),
    ...Object.fromEntries(files.map(([type, example]) => [type, { schema: { type: 'string' }, example }])),
  }
}

const Secured = z.object({ security: z.array(z.looseObject({})).default([]) })

/** Marks all operations as not needing a token, for a service without tokens. @param text the document */
export function withoutTokens(text: Buffer): Buffer {
  const document = z.looseObject({}).parse(JSON.parse(text.toString()))
  for (const { part } of listOperations(document)) {
    const { security } = Secured.parse(part)
    // Operators always use a key of their own, even if the service checks no other tokens.
    if (!security.some((scheme) => 'operator' in scheme)) Object.assign(part, { security: [] })
  }
  return Buffer.from(JSON.stringify(document))
}

function describeField(name: string, member: Member): object {
  if (name === 'attributes') {
    return {
      ...member,
      type: 'string',
      contentMediaType: 'application/json',
      examples: ['{"color":"red","price":19.9}'],
    }
  }
  const { type, ...rest } = member
  return type === 'boolean' ? { ...rest, anyOf: [{ type }, { enum: BOOLEAN_WORDS }] } : member
}

/** Texts for a boolean, in any case (reference: Request bodies). */
const BOOLEAN_WORDS = ['', 'true', '1', 'yes', 'on', 't', 'y', 'false', '0', 'no', 'off', 'f', 'n']

/** A body is one line or has `lines`. A form cannot have `lines`. */
function movementContent(content: object, { properties: { lines } = {} }: z.output<typeof Schema>): object {
  const { items: line } = z.object({ items: z.looseObject({}) }).parse(lines)
  const batch = { type: 'object', properties: { lines }, required: ['lines'], additionalProperties: false }
  return {
    ...content,
    'application/json': { schema: { oneOf: [line, batch] } },
    [FORM]: { schema: line },
  }
}

const IMPORTS: ReadonlySet<string> = new Set(['postProductsImport', 'postOperatorImports'])

const IMPORT_BODY = {
  required: true,
  content: {
    'text/csv': { schema: { type: 'string', minLength: 1 }, example: 'sku,attributes.color\nMUG-BLUE,blue\n' },
    'application/x-ndjson': {
      schema: { type: 'string' },
      example: '{"sku":"MUG-SAND","attributes":{"color":"sand"}}\n',
    },
  },
}

/** Example files of answers, by operation and media type. Checked by `test/document-examples.long.test.ts`. */
const FILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  getProductsExport: {
    'application/x-ndjson': '{"id":1,"sku":"TSHIRT-RED-L","attributes":{"color": "red", "price": 17.5}}\n',
    'text/csv': 'id,sku,attributes\r\n1,TSHIRT-RED-L,"{""color"": ""red"", ""price"": 17.5}"\r\n',
  },
  postProductsImport: {
    'application/x-ndjson':
      '{"type":"progress","received":1}\n{"type":"summary","received":1,"created":1,"updated":0,"skipped":0,"failed":0,"line":1,"durationMs":12,"errors":[]}\n',
  },
}

const text = { type: 'string' }

const tags = [
  { name: 'Products', description: 'Products with free-form attributes, their import and export.' },
  { name: 'Locations', description: 'Places that keep stock.' },
  { name: 'Stock', description: 'How much there is of a product at a location.' },
  { name: 'Movements', description: 'The ledger: every change of a level of stock.' },
  { name: 'Reservations', description: 'Stock that is kept for an order until it is committed, released or expires.' },
  { name: 'Users', description: 'The users that the database has.' },
  { name: 'Operators', description: 'What the people who run the service see and do. Needs an operator key.' },
  { name: 'Service', description: 'Health and API documents.' },
]

/** The ends of operation ids for one record with an entity tag (reference: Versions and preconditions). */
const TAGGED = /(?:ProductsWithProductId|LocationsWithLocationId|StockWithProductIdLocationId)$/
const DOCUMENTS: ReadonlySet<string> = new Set(['getOpenapiJson', 'getDocs'])
const LISTS = /^get(?:Products|Stock|Movements|Reservations|Locations|Users|Operator(?:Imports|LowStock|Audit))$/
/** Operations that accept an Idempotency-Key (reference: Idempotency keys). */
const IDEMPOTENT =
  /^post(?:Products|Locations|Movements|Reservations|ReservationsCommitWithReservationId|OperatorImports)$/

/** The notes in the API document. `test/document-examples.long.test.ts` checks their examples. */
const documentNotes: DocumentNotes = {
  servers: [{ url: '/', description: 'This process' }],
  tags,
  requestHeaders,
  answerHeaders,
  examples,
}

function requestHeaders({ method, operationId: id }: DocumentedOperation): Record<string, HeaderNote> {
  return {
    ...(method === 'GET' &&
      (TAGGED.test(id) || DOCUMENTS.has(id)) && {
        'If-None-Match': { ...IF_NONE_MATCH, ...(TAGGED.test(id) && { example: exampleTag(id) }) },
      }),
    ...(method !== 'GET' &&
      TAGGED.test(id) && {
        'If-Match': {
          description:
            'The ETag of the version that the change is based on. INVENTORY_REQUIRE_IF_MATCH makes it required.',
          schema: text,
          example: exampleTag(id),
        },
      }),
    ...(IDEMPOTENT.test(id) && {
      'Idempotency-Key': {
        description: 'Makes a repeat safe: the same request with the same key gets the first answer again.',
        schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
      },
    }),
  }
}

function exampleTag(id: string): string {
  if (id.includes('Stock')) return '"s1-2-1"'
  return id.includes('Locations') ? '"l2-1"' : '"p1-1"'
}

function answerHeaders(operation: DocumentedOperation, status: string): Record<string, HeaderNote> {
  return {
    'X-Request-Id': REQUEST_ID,
    ...(['409', '429', '503'].includes(status) && {
      'Retry-After': {
        description: 'Seconds to wait before another attempt. A 409 has it only for a running Idempotency-Key.',
        schema: { type: 'integer', minimum: 1 },
      },
    }),
    ...(['401', '403'].includes(status) && {
      'WWW-Authenticate': {
        description: 'What is wrong with the token (RFC 6750). The 403 of an operator has none.',
        schema: text,
      },
    }),
    ...(Number(status) < 400 && successHeaders(operation, status)),
  }
}

function successHeaders({ operationId: id }: DocumentedOperation, status: string): Record<string, HeaderNote> {
  const hasTag = (TAGGED.test(id) && status !== '204') || DOCUMENTS.has(id) || CONFIRMED.has(id)
  return {
    ...(hasTag && { ETag: { description: 'The version, for If-Match and If-None-Match.', schema: text } }),
    ...(LISTS.test(id) && { Link: LINK }),
    ...(id === 'getProducts' && { 'X-Total-Count': TOTAL }),
    ...(['201', '202', '301'].includes(status) && {
      Location: { description: 'The path of what was created, or of the page.', schema: text, required: true },
    }),
    ...(IDEMPOTENT.test(id) && { 'Idempotent-Replayed': REPLAYED }),
    ...(id === 'getProductsExport' && {
      'Content-Disposition': { description: 'The name of the file.', schema: text, required: true },
    }),
  }
}

/** Operations that return the tag of a new record. */
const CONFIRMED: ReadonlySet<string> = new Set(['postProducts', 'postLocations'])
const LINK = {
  description: 'The first page, and the next one where there is one (RFC 8288).',
  schema: text,
  required: true,
  example: '</products>; rel="first"',
}
const TOTAL = { description: 'How long the list is, with count=exact.', schema: { type: 'integer', minimum: 0 } }
const REPLAYED = {
  description: 'Present when the answer repeats an earlier one for its Idempotency-Key.',
  schema: { type: 'string', enum: ['true'] },
}
