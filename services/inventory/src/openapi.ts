import { completeDocument } from '@trestle/common/documents/complete-document.ts'
import { listOperations } from '@trestle/common/documents/document-part.ts'
import { Application, type OpenApiDocument } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { ErrorView, errorBody } from './error-body.ts'
import { exampleOfError } from './openapi-errors.ts'
import { documentNotes } from './openapi-notes.ts'
import { VERSION } from './version.ts'

/** The folder of the controllers, and what else the OpenAPI document depends on. */
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

/** The OpenAPI document of the service. It is made from the controllers alone, without a database. */
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

/** Says what no controller does: files, JSON in forms, examples of errors, and what the server refuses before any controller. */
function describe(operation: object): void {
  const { operationId, security, tags, requestBody, responses } = Operation.parse(operation)
  Object.assign(operation, {
    security,
    // The framework tags an operation with its module, whose name is a part of the URL.
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
  // A form has texts only: attributes are JSON in a text, and there are more words for a boolean.
  const properties = Object.fromEntries(
    Object.entries(form.properties).map(([name, member]) => [name, describeField(name, member)]),
  )
  const content = {
    ...requestBody.content,
    [FORM]: { schema: { ...form, properties } },
  }
  Object.assign(operation, { requestBody: { ...requestBody, content } })
}

/** Gives each error its schema and an example, and each file an example. */
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

/** Says of each operation that it needs no token, for a service that checks none. @param text of the document */
export function withoutTokens(text: Buffer): Buffer {
  const document = z.looseObject({}).parse(JSON.parse(text.toString()))
  for (const { part } of listOperations(document)) {
    const { security } = Secured.parse(part)
    // Operators call with a key of their own, whether or not the service checks the tokens of others.
    if (!security.some((scheme) => 'operator' in scheme)) Object.assign(part, { security: [] })
  }
  return Buffer.from(JSON.stringify(document))
}

/** A member of a form. */
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

/** Texts for a boolean, which are read in any case (reference: Request bodies). */
const BOOLEAN_WORDS = ['', 'true', '1', 'yes', 'on', 't', 'y', 'false', '0', 'no', 'off', 'f', 'n']

/** A body is one line, or has lines; a form has no lines. */
function movementContent(content: object, { properties: { lines } = {} }: z.output<typeof Schema>): object {
  const { items: line } = z.object({ items: z.looseObject({}) }).parse(lines)
  const batch = { type: 'object', properties: { lines }, required: ['lines'], additionalProperties: false }
  return {
    ...content,
    'application/json': { schema: { oneOf: [line, batch] } },
    [FORM]: { schema: line },
  }
}

/** Operations that take a file. */
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

/** Files that are answered, by operation and media type. They are compared by test/document-examples.long.test.ts. */
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
