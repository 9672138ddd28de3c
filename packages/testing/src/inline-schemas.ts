import { z } from 'zod'

const SCHEMAS = '#/components/schemas/'
const Document = z.object({ components: z.object({ schemas: z.record(z.string(), z.looseObject({})) }) })
const Reference = z.object({ $ref: z.string().startsWith(SCHEMAS) })
// biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
const Hidden = z.looseObject({ if: z.strictObject({}), then: z.looseObject({}) })
const OrNull = z.object({ anyOf: z.tuple([Reference, z.object({ type: z.literal('null') })]) })
const Typed = z.looseObject({ type: z.string(), properties: z.unknown() })

/**
 * Returns the JSON of an OpenAPI document in which each reference to a schema is replaced by the schema. A rule under `then` is
 * merged into the schema if its `if` is empty, because an empty `if` always holds. A union of an object and null becomes an object
 * with two types.
 */
export function inlineSchemas(document: object): string {
  const { schemas } = Document.parse(document).components
  const inline = (part: unknown): unknown => {
    const reference = Reference.safeParse(part)
    if (reference.success) return inline(schemas[reference.data.$ref.slice(SCHEMAS.length)])
    const orNull = OrNull.safeParse(part)
    const object = Typed.safeParse(orNull.data && inline(orNull.data.anyOf[0]))
    if (object.success) return { ...object.data, type: [object.data.type, 'null'] }
    const hidden = Hidden.safeParse(part)
    if (!hidden.success) return part
    const { if: _, then, ...schema } = hidden.data
    // A rule for other members lists its own members without a schema, so keep the schemas of `properties`.
    return { ...schema, ...then, ...(schema.properties !== undefined && { properties: schema.properties }) }
  }
  return JSON.stringify(document, (_, part: unknown) => inline(part))
}
