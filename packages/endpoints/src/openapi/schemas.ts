import { type ZodType, z } from 'zod'
import type { Settings } from '../config/settings.ts'
import type { JsonSchema } from './document-types.ts'

const ErrorEnvelope = z
  .object({
    statusCode: z.int(),
    error: z.object({
      type: z.string(),
      description: z.string(),
      issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    }),
  })
  .meta({ id: 'Error' })

/** The named schemas of a document. They are collected while schemas are referred to. */
export class SchemaComponents {
  readonly schemas: Record<string, JsonSchema> = {}
  /** The schema of error bodies; undefined when the application replaces them without a schema. */
  readonly error: JsonSchema | undefined

  constructor({ errorBody, errorSchema }: Pick<Settings, 'errorBody' | 'errorSchema'>) {
    const schema = errorSchema ?? (errorBody === undefined ? ErrorEnvelope : undefined)
    this.error = schema && this.refer(schema, 'output')
  }

  /** The JSON Schema of a zod schema; a reference if it has a name: `z.object({ … }).meta({ id: 'Product' })`. */
  refer(schema: ZodType, io: 'input' | 'output'): JsonSchema {
    // Wrap the schema in an object, because zod makes references only for members.
    const { properties, $defs = {} } = z.toJSONSchema(z.object({ value: schema }), {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        // Zod leaves out the default of a schema that converts text. The converted value is JSON too.
        if (zodSchema instanceof z.ZodDefault) jsonSchema.default ??= zodSchema.def.defaultValue
        // A schema inside this one may have had wider bounds.
        if (jsonSchema.type === 'integer') jsonSchema.format = widthOf(jsonSchema)
        // The format says the same as the pattern, in fewer words.
        if (jsonSchema.format !== undefined) delete jsonSchema.pattern
      },
    })
    const names = new Map(
      Object.entries($defs).map(([name, definition]) => [name, this.#nameFor(name, definition, io)]),
    )
    for (const [name, definition] of Object.entries($defs)) {
      // Older versions of zod repeat the name inside the definition.
      this.schemas[names.get(name) ?? name] = renameReferences({ ...definition, id: undefined }, names)
    }
    return renameReferences(properties?.value ?? {}, names)
  }

  /** Input and output of a schema may differ, because defaults make members of the input optional. */
  #nameFor(name: string, definition: object, io: 'input' | 'output'): string {
    const { [name]: known } = this.schemas
    const same = new Map([[name, name]])
    if (
      known === undefined ||
      JSON.stringify(known) === JSON.stringify(renameReferences({ ...definition, id: undefined }, same))
    )
      return name
    return `${name}${io === 'input' ? 'Input' : 'Output'}`
  }
}

/** The width of an integer. Without it, generators of clients take each for one of 32 bits. */
function widthOf({ minimum, maximum }: JsonSchema): 'int32' | 'int64' {
  return Number(minimum) >= -(2 ** 31) && Number(maximum) < 2 ** 31 ? 'int32' : 'int64'
}

/** Makes references point at the components of the document. */
function renameReferences(value: unknown, names: ReadonlyMap<string, string>): JsonSchema {
  const text = JSON.stringify(value, (key, item: unknown) => {
    if (key !== '$ref' || typeof item !== 'string' || !item.startsWith('#/$defs/')) return item
    const name = item.slice('#/$defs/'.length)
    return `#/components/schemas/${names.get(name) ?? name}`
  })
  return JSON.parse(text)
}
