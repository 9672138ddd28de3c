import { asPart, type DocumentPart, isPart, listOf, listOperations } from '@trestle/common/documents/client-schemas.ts'
import type { Json } from '@trestle/common/documents/complete-document.ts'

const FORM = 'application/x-www-form-urlencoded'
const FORM_BOOLEAN = { type: 'string', enum: ['yes', 'no', 'y', 'n'] }
/** How OpenAPI describes the style `a[b]=…`. */
const BRACKETS = { style: 'deepObject', explode: true }
/** Unknown fields are allowed, but a repeated field is refused. So each is a text, not a list or an object. */
const OTHERS = { additionalProperties: { type: 'string' } }
/** The name `b` in `a[b]=…`. It must not be empty, because `a[]` is an item of a list. */
const INNER_NAMES = { propertyNames: { pattern: '^[^\\[\\]]+$' } }

/**
 * Describes how queries and forms of this service write values (reference: Forms): objects with brackets, lists as `a[]`,
 * booleans as words. The route schemas describe JSON. Any text that may be absent may also be empty.
 * @param document is changed
 */
export function describeForms(document: object): void {
  for (const { part } of listOperations(document)) {
    for (const parameter of listOf(part.parameters)) describeParameter(asPart(parameter))
    describeBody(asPart(part.requestBody))
  }
}

function describeParameter(parameter: DocumentPart): void {
  if (parameter.in !== 'query') return
  const schema = asPart(parameter.schema)
  judgeEmptyTexts(schema)
  if (isPart(schema.properties))
    Object.assign(parameter, BRACKETS, { schema: { ...schema, ...OTHERS, ...INNER_NAMES } })
  else if (parameter.required !== true) parameter.schema = orEmpty(schema)
}

function describeBody({ content }: DocumentPart): void {
  const types = asPart(content)
  for (const media of Object.values(types)) {
    const schema = asPart(asPart(media).schema)
    flatten(schema)
    judgeEmptyTexts(schema)
  }
  if (types[FORM] === undefined) return
  const schema = asPart(asPart(types[FORM]).schema)
  const { properties, required } = formOf(schema)
  const brackets = Object.entries(properties).filter(([, field]) => asPart(field).type === 'object')
  types[FORM] = {
    schema: { ...schema, properties, ...(required.length > 0 && { required }), ...OTHERS },
    ...(brackets.length > 0 && { encoding: Object.fromEntries(brackets.map(([name]) => [name, BRACKETS])) }),
  }
}

/** Replaces an `anyOf` that has only one alternative with that alternative. */
function flatten(schema: DocumentPart): void {
  for (const [name, field] of Object.entries(asPart(schema.properties))) {
    const [only, ...others] = listOf(asPart(field).anyOf)
    const { anyOf: _anyOf, ...rest } = asPart(field)
    if (only !== undefined && others.length === 0) asPart(schema.properties)[name] = { ...rest, ...asPart(only) }
    flatten(asPart(asPart(schema.properties)[name]))
  }
}

interface FormSchema {
  readonly properties: Json
  readonly required: readonly unknown[]
}

/** Converts the fields of a JSON object to the fields of a form. */
function formOf(schema: DocumentPart): FormSchema {
  const fields = Object.entries(asPart(schema.properties)).map(([name, field]) => {
    const { type } = asPart(field)
    return [type === 'array' ? `${name}[]` : name, formField(asPart(field))] as const
  })
  return { properties: Object.fromEntries(fields), required: listOf(schema.required) }
}

function formField(schema: DocumentPart): Json {
  const { type, default: byDefault, anyOf, ...rest } = schema
  if (type === 'boolean') {
    return { ...rest, ...FORM_BOOLEAN, ...(byDefault !== undefined && { default: byDefault ? 'yes' : 'no' }) }
  }
  // A form has only texts. Without known fields, the service cannot convert numbers and booleans.
  if (type === 'object' && schema.properties === undefined) return { type, ...OTHERS, ...INNER_NAMES }
  if (type === 'object') {
    const { properties, required } = formOf(schema)
    return { ...schema, properties, ...(required.length > 0 && { required }), ...OTHERS, ...INNER_NAMES }
  }
  // A form cannot contain `null`.
  const alternatives = listOf(anyOf).filter((each) => asPart(each).type !== 'null')
  return alternatives.length === 1 ? { ...rest, ...asPart(alternatives[0]) } : schema
}

/** An empty text counts as absent (reference: Absent values), also in nested objects. */
function judgeEmptyTexts({ properties, required, allOf, anyOf }: DocumentPart): void {
  const fields = asPart(properties)
  const needed = [...listOf(required), ...listOf(allOf).flatMap((each) => listOf(asPart(each).required))]
  for (const [name, field] of Object.entries(fields)) {
    judgeEmptyTexts(asPart(field))
    fields[name] = needed.includes(name) ? orFilled(asPart(field)) : orEmpty(asPart(field))
  }
  for (const alternative of listOf(anyOf)) judgeEmptyTexts(asPart(alternative))
}

/** Describes a text that must not be empty because it is required. */
function orFilled(schema: DocumentPart): DocumentPart {
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: schema.anyOf.map(orFilled) }
  const { type, minLength = 1, format, enum: values, const: value } = schema
  return type === 'string' && [format, values, value].every((each) => each === undefined)
    ? { ...schema, minLength }
    : schema
}

/** A text that may also be empty. Minimum lengths above 1 and lists of values stay, because clients need them. */
function orEmpty(schema: DocumentPart): DocumentPart {
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: schema.anyOf.map(orEmpty) }
  const { minLength = 0, ...rest } = schema
  const { type, pattern, format, description } = rest
  if (type !== 'string' || Number(minLength) > 1) return schema
  if (format !== undefined) {
    const { description: _description, ...filled } = schema
    return { ...(description !== undefined && { description }), anyOf: [filled, { type, maxLength: 0 }] }
  }
  const takesEmpty = typeof pattern !== 'string' || new RegExp(pattern).test('')
  return { ...rest, ...(!takesEmpty && { pattern: `^$|${pattern}` }) }
}
