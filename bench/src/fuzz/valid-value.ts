import fc from 'fast-check'
import type { Schema } from './openapi.ts'

export interface FromMemory {
  readonly fromMemory: string
  readonly choice: number
  readonly member?: string
  /** The value if there is no stored one. */
  readonly otherwise: string | number
}

/** Returns values that a schema allows. @param path the names of the members down to the value, with dots */
export function validValue(schema: Schema, path: string, context: ValueContext): fc.Arbitrary<unknown> {
  const { lexicon } = context
  const meaningful = lexicon[path] ?? lexicon[path.slice(path.lastIndexOf('.') + 1)]
  const allowed = allowedValue(context.resolve(schema), path, context)
  return meaningful === undefined
    ? allowed
    : fc.oneof({ weight: LEXICON_WEIGHT, arbitrary: meaningful }, { weight: 1, arbitrary: allowed })
}

export function isFromMemory(value: unknown): value is FromMemory {
  return typeof value === 'object' && value !== null && 'fromMemory' in value
}

export function known(pool: string, otherwise: string | number = '0'.repeat(24)): fc.Arbitrary<FromMemory> {
  return fc.nat().map((choice) => ({ fromMemory: pool, choice, otherwise }))
}

/** Returns stored values that belong together. All come from the same answer, each by its name. */
export function knownTogether<Shape>(
  pool: string,
  shape: (part: (member: string, otherwise?: string | number) => FromMemory) => Shape,
): fc.Arbitrary<Shape> {
  return fc.nat().map((choice) => shape((member, otherwise = 'x') => ({ fromMemory: pool, choice, member, otherwise })))
}

/** Known values of the service, by name or dotted path of the member. A schema cannot state them. */
export type Lexicon = Readonly<Record<string, fc.Arbitrary<unknown>>>

export interface ValueContext {
  readonly lexicon: Lexicon
  readonly resolve: (schema: Schema) => Schema
}

/** The weight of the lexicon's values for a known member. Other values follow the schema. */
const LEXICON_WEIGHT = 12
const TEXT_MAX = 40
const ITEMS_MAX = 3

function allowedValue(schema: Schema, path: string, context: ValueContext): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const { anyOf, oneOf, then, ...common } = schema
  // Rules that client generators ignore are inside an `if` that is always true.
  const alternatives = anyOf ?? oneOf ?? then?.anyOf ?? then?.oneOf
  if (alternatives) {
    const values = alternatives.map((each) => allowedValue(addTo(common, context.resolve(each)), path, context))
    return fc.oneof(...values)
  }
  if (then?.type !== undefined) return allowedValue({ ...common, ...then }, path, context)
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? ['anything'])
  return fc.oneof(...types.map((type) => valueOfType(type, schema, path, context)))
}

/** Returns a schema with the additions of one alternative, which may contain only required members. */
function addTo({ properties = {}, required = [], ...common }: Schema, alternative: Schema): Schema {
  const members = Object.entries(alternative.properties ?? {}).map(([name, member]) => [
    name,
    { ...properties[name], ...member },
  ])
  return {
    ...common,
    ...alternative,
    properties: { ...properties, ...Object.fromEntries(members) },
    required: [...required, ...(alternative.required ?? [])],
  }
}

function valueOfType(type: string, schema: Schema, path: string, context: ValueContext): fc.Arbitrary<unknown> {
  switch (type) {
    case 'object':
      return objectOf(schema, path, context)
    case 'array':
      return fc.array(validValue(schema.items ?? {}, path, context), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? ITEMS_MAX, Math.max(ITEMS_MAX, schema.minItems ?? 0)),
      })
    case 'string':
      return textOf(schema)
    case 'integer':
      return integerOf(schema)
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

function objectOf({ properties = {}, required = [] }: Schema, path: string, context: ValueContext) {
  const members = Object.entries(properties).map(([name, schema]) => [
    name,
    validValue(schema, path === '' ? name : `${path}.${name}`, context),
  ])
  if (members.length === 0)
    return fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 })
  return fc.record<Record<string, unknown>>(Object.fromEntries(members), {
    requiredKeys: [...required],
    noNullPrototype: true,
  })
}

function textOf({ format, pattern, minLength = 0, maxLength = TEXT_MAX }: Schema): fc.Arbitrary<string> {
  switch (format) {
    case 'date-time':
      return times.map((time) => time.toISOString())
    case 'date':
      return times.map((time) => time.toISOString().slice(0, 10))
    case 'uuid':
      return fc.uuid()
    case 'uri':
      return fc.webUrl()
    default:
  }
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern))
  const longest = Math.max(minLength, Math.min(maxLength, TEXT_MAX))
  const texts = fc.string({ unit: 'grapheme-ascii', minLength, maxLength: longest })
  return maxLength > longest
    ? fc.oneof({ weight: 15, arbitrary: texts }, fc.constantFrom('x'.repeat(maxLength)))
    : texts
}

const times = fc.date({
  min: new Date('2000-01-01T00:00:00Z'),
  max: new Date('2099-12-31T23:59:59Z'),
  noInvalidDate: true,
})

function integerOf({ minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER }: Schema) {
  const least = Math.max(minimum, Math.min(0, maximum))
  return fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: least, max: Math.min(maximum, least + 100) }) },
    { weight: 1, arbitrary: fc.integer({ min: minimum, max: maximum }) },
    { weight: 1, arbitrary: fc.constantFrom(minimum, maximum) },
  )
}
