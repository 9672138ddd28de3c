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

/** The named schemas of a document, which grow with what refers to them. */
export class SchemaComponents {
  readonly schemas: Record<string, JsonSchema> = {}
  /** Of the body of errors; undefined where an application has its own and does not say which. */
  readonly error: JsonSchema | undefined

  constructor({ errorBody, errorSchema }: Pick<Settings, 'errorBody' | 'errorSchema'>) {
    const schema = errorSchema ?? (errorBody === undefined ? ErrorEnvelope : undefined)
    this.error = schema && this.refer(schema, 'output')
  }

  /** The schema of a value, by reference where it has a name: `z.object({ … }).meta({ id: 'Product' })`. */
  refer(schema: ZodType, io: 'input' | 'output'): JsonSchema {
    // As the member of another, so that a name of its own is seen.
    const { properties, $defs = {} } = z.toJSONSchema(z.object({ value: schema }), {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        // Zod leaves it out where text is turned into something else; what it is turned into is JSON as well.
        if (zodSchema instanceof z.ZodDefault) jsonSchema.default ??= zodSchema.def.defaultValue
        // A format says what its pattern would say again, in many more words.
        if (jsonSchema.format !== undefined) delete jsonSchema.pattern
      },
    })
    const names = new Map(
      Object.entries($defs).map(([name, definition]) => [name, this.#nameFor(name, definition, io)]),
    )
    for (const [name, definition] of Object.entries($defs)) {
      // Older versions of zod repeat the name inside.
      this.schemas[names.get(name) ?? name] = relink({ ...definition, id: undefined }, names)
    }
    return relink(properties?.value ?? {}, names)
  }

  /** A schema that is read may differ from the one of its name that is written: defaults make members optional. */
  #nameFor(name: string, definition: object, io: 'input' | 'output'): string {
    const { [name]: known } = this.schemas
    const same = new Map([[name, name]])
    if (known === undefined || JSON.stringify(known) === JSON.stringify(relink({ ...definition, id: undefined }, same)))
      return name
    return `${name}${io === 'input' ? 'Input' : 'Output'}`
  }
}

/** Points references at the components of the document. */
function relink(value: unknown, names: ReadonlyMap<string, string>): JsonSchema {
  const text = JSON.stringify(value, (key, item: unknown) => {
    if (key !== '$ref' || typeof item !== 'string' || !item.startsWith('#/$defs/')) return item
    const name = item.slice('#/$defs/'.length)
    return `#/components/schemas/${names.get(name) ?? name}`
  })
  return JSON.parse(text)
}
