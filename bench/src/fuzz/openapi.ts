import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ROOT } from '../program.ts'

/** The members of a JSON Schema from which requests are generated. */
export interface Schema {
  readonly $ref?: string | undefined
  readonly const?: unknown
  readonly enum?: readonly unknown[] | undefined
  readonly anyOf?: readonly Schema[] | undefined
  readonly oneOf?: readonly Schema[] | undefined
  readonly then?: Schema | undefined
  readonly type?: string | readonly string[] | undefined
  readonly properties?: Readonly<Record<string, Schema>> | undefined
  readonly required?: readonly string[] | undefined
  readonly items?: Schema | undefined
  readonly minItems?: number | undefined
  readonly maxItems?: number | undefined
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  readonly pattern?: string | undefined
  readonly format?: string | undefined
}

/** A parameter of an operation, with its references resolved. */
export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: Schema
}

export interface Operation {
  /** The method and the path, such as `POST /products/{productId}`. */
  readonly name: string
  readonly method: string
  readonly path: string
  readonly parameters: readonly Parameter[]
  /** The schema of the body by media type. Empty if the operation takes no body. */
  readonly bodies: Readonly<Record<string, Schema>>
  /** The media types of each documented answer. The status may be a range such as `4XX`. */
  readonly answers: Readonly<Record<string, readonly string[]>>
}

export interface ApiDocument {
  readonly whole: object
  readonly operations: readonly Operation[]
  resolve(schema: Schema): Schema
}

const Schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    $ref: z.string().optional(),
    const: z.unknown().optional(),
    enum: z.array(z.unknown()).optional(),
    anyOf: z.array(Schema).optional(),
    oneOf: z.array(Schema).optional(),
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    then: Schema.optional(),
    type: z.union([z.string(), z.array(z.string())]).optional(),
    properties: z.record(z.string(), Schema).optional(),
    required: z.array(z.string()).optional(),
    items: Schema.optional(),
    minItems: z.number().optional(),
    maxItems: z.number().optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    pattern: z.string().optional(),
    format: z.string().optional(),
  }),
)
const Content = z.record(z.string(), z.object({ schema: Schema.default({}) })).default({})
const Described = z.object({
  parameters: z
    .array(z.object({ name: z.string(), in: z.string(), required: z.boolean().default(false), schema: Schema }))
    .default([]),
  requestBody: z.object({ content: Content }).default({ content: {} }),
  responses: z.record(z.string(), z.object({ content: Content })),
})
const Document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), Described)),
  components: z.object({ schemas: z.record(z.string(), Schema).default({}) }),
})

const REFERENCE = '#/components/schemas/'

/** Reads `docs/openapi/<service>.json`. */
export function readApiDocument(service: string): ApiDocument {
  const document: unknown = JSON.parse(readFileSync(join(ROOT, 'docs', 'openapi', `${service}.json`), 'utf8'))
  return parseApiDocument(document)
}

/** @throws ZodError if the document does not have the format that the services write */
export function parseApiDocument(document: unknown): ApiDocument {
  const whole = inlineResponses(document)
  const { paths, components } = Document.parse(whole)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters, requestBody, responses }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      parameters,
      bodies: schemasOf(requestBody.content),
      answers: Object.fromEntries(
        Object.entries(responses).map(([status, { content }]) => [status, Object.keys(content)]),
      ),
    })),
  )
  return {
    whole,
    operations,
    resolve: (schema) => {
      if (schema.$ref === undefined) return schema
      const found = components.schemas[schema.$ref.replace(REFERENCE, '')]
      if (found === undefined) throw new Error(`the document has no ${schema.$ref}`)
      return found
    },
  }
}

const Answers = z.object({ components: z.object({ responses: z.record(z.string(), z.unknown()).default({}) }) })
const Reference = z.object({ $ref: z.string().startsWith('#/components/responses/') })

/** Replaces references to shared answers by the answers. */
function inlineResponses(document: unknown): object {
  const { responses } = Answers.parse(document).components
  const inlined: unknown = JSON.parse(JSON.stringify(document), (_, value: unknown) => {
    const name = Reference.safeParse(value).data?.$ref.split('/').at(-1)
    return name === undefined ? value : responses[name]
  })
  return z.looseObject({}).parse(inlined)
}

function schemasOf(content: z.output<typeof Content>): Readonly<Record<string, Schema>> {
  return Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, schema]))
}

/**
 * Returns the operation of a request. Literal segments take precedence over parameters, which may be empty. A slash at the end is
 * ignored, and HEAD counts as GET.
 * @param path percent-encoded, without the query
 */
export function findOperation(operations: readonly Operation[], method: string, path: string): Operation | undefined {
  const wanted = method === 'HEAD' ? 'GET' : method
  const segments = path.replace(/\/$/, '').split('/')
  const candidates = operations
    .filter((operation) => operation.method === wanted && matches(operation.path, segments))
    .sort((a, b) => parametersIn(a.path) - parametersIn(b.path))
  return candidates[0]
}

function matches(template: string, segments: readonly string[]): boolean {
  const parts = template.replace(/\/$/, '').split('/')
  return parts.length === segments.length && parts.every((part, at) => part.startsWith('{') || part === segments[at])
}

function parametersIn(path: string): number {
  return path.split('{').length
}
