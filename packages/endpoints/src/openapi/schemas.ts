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

/** The named schemas of a document. A schema is added when another part of the document refers to it. */
export class SchemaComponents {
  readonly schemas: Record<string, JsonSchema> = {}
  /** The schema of error bodies, or `undefined` if the application replaces error bodies and gives no schema. */
  readonly error: JsonSchema | undefined

  constructor({ errorBody, errorSchema }: Pick<Settings, 'errorBody' | 'errorSchema'>) {
    const schema = errorSchema ?? (errorBody === undefined ? ErrorEnvelope : undefined)
    this.error = schema && this.refer(schema, 'output')
  }

  /** Returns the JSON Schema of a zod schema. A schema with a name (`meta({ id: 'Product' })`) becomes a reference. */
  refer(schema: ZodType, io: 'input' | 'output'): JsonSchema {
    // Wrap the schema in an object, because zod creates references only for members.
    const { properties, $defs = {} } = z.toJSONSchema(z.object({ value: schema }), {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        // Zod omits the default of a schema that converts text. The converted default is valid JSON too.
        if (zodSchema instanceof z.ZodDefault) jsonSchema.default ??= zodSchema.def.defaultValue
        // Set the format again, because a schema inside this schema may have wider bounds.
        if (jsonSchema.type === 'integer') jsonSchema.format = widthOf(jsonSchema)
        // The format means the same as the pattern, so remove the longer pattern.
        if (jsonSchema.format !== undefined) delete jsonSchema.pattern
      },
    })
    const names = new Map(
      Object.entries($defs).map(([name, definition]) => [name, this.#nameFor(name, definition, io)]),
    )
    for (const [name, definition] of Object.entries($defs)) {
      // Older versions of zod repeat the name in the definition.
      this.schemas[names.get(name) ?? name] = renameReferences({ ...definition, id: undefined }, names)
    }
    return renameReferences(properties?.value ?? {}, names)
  }

  /** Input and output of a schema may differ, because members with defaults are optional in the input. */
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

/** Returns the width of an integer. Without a width, client generators use 32 bits for every integer. */
function widthOf({ minimum, maximum }: JsonSchema): 'int32' | 'int64' {
  return Number(minimum) >= -(2 ** 31) && Number(maximum) < 2 ** 31 ? 'int32' : 'int64'
}

/** Changes references so that they point to the components of the document. */
function renameReferences(value: unknown, names: ReadonlyMap<string, string>): JsonSchema {
  const text = JSON.stringify(value, (key, item: unknown) => {
    if (key !== '$ref' || typeof item !== 'string' || !item.startsWith('#/$defs/')) return item
    const name = item.slice('#/$defs/'.length)
    return `#/components/schemas/${names.get(name) ?? name}`
  })
  return JSON.parse(text)
}
