import type { Json } from '@trestle/common/documents/complete-document.ts'

/** A part of a document that may be changed. */
type Part = Record<string, unknown>

const FORM = 'application/x-www-form-urlencoded'
const FORM_BOOLEAN = { type: 'string', enum: ['yes', 'no', 'y', 'n'] }
/** How `a[b]=…` is written in OpenAPI. */
const BRACKETS = { style: 'deepObject', explode: true }

/**
 * Says how queries and forms of this service write values (reference: Forms): objects with brackets, lists as `a[]`, booleans
 * as words. The schemas of the routes describe JSON.
 * @param document is changed
 */
export function describeForms(document: object): void {
  for (const item of Object.values(partOf(document, 'paths'))) {
    for (const operation of Object.values(asPart(item))) {
      for (const parameter of listOf(asPart(operation).parameters)) describeParameter(asPart(parameter))
      describeBody(asPart(asPart(operation).requestBody))
    }
  }
}

function describeParameter(parameter: Part): void {
  if (parameter.in === 'query' && isPart(asPart(parameter.schema).properties)) Object.assign(parameter, BRACKETS)
}

function describeBody({ content }: Part): void {
  const types = asPart(content)
  for (const media of Object.values(types)) flatten(partOf(asPart(media), 'schema'))
  if (types[FORM] === undefined) return
  const schema = partOf(asPart(types[FORM]), 'schema')
  const { properties, required } = formOf(schema)
  const brackets = Object.entries(properties).filter(([, member]) => asPart(member).type === 'object')
  types[FORM] = {
    schema: { ...schema, properties, ...(required.length > 0 && { required }) },
    ...(brackets.length > 0 && { encoding: Object.fromEntries(brackets.map(([name]) => [name, BRACKETS])) }),
  }
}

/** An object of one alternative is that alternative. */
function flatten(schema: Part): void {
  for (const [name, member] of Object.entries(asPart(schema.properties))) {
    const [only, ...others] = listOf(asPart(member).anyOf)
    const { anyOf: _anyOf, ...rest } = asPart(member)
    if (only !== undefined && others.length === 0) asPart(schema.properties)[name] = { ...rest, ...asPart(only) }
    flatten(asPart(asPart(schema.properties)[name]))
  }
}

interface FormSchema {
  readonly properties: Json
  readonly required: readonly unknown[]
}

/** The members of a JSON object as a form writes them. */
function formOf(schema: Part): FormSchema {
  const members = Object.entries(asPart(schema.properties)).map(([name, member]) => {
    const { type } = asPart(member)
    return [type === 'array' ? `${name}[]` : name, formMember(asPart(member))] as const
  })
  return { properties: Object.fromEntries(members), required: listOf(schema.required) }
}

function formMember(schema: Part): Json {
  const { type, default: byDefault, anyOf, ...rest } = schema
  if (type === 'boolean') {
    return { ...rest, ...FORM_BOOLEAN, ...(byDefault !== undefined && { default: byDefault ? 'yes' : 'no' }) }
  }
  // Everything below an object without known members stays a text.
  if (type === 'object' && schema.properties === undefined) return { type, additionalProperties: { type: 'string' } }
  if (type === 'object') {
    const { properties, required } = formOf(schema)
    return { ...schema, properties, ...(required.length > 0 && { required }) }
  }
  // A form has no null.
  const alternatives = listOf(anyOf).filter((each) => asPart(each).type !== 'null')
  return alternatives.length === 1 ? { ...rest, ...asPart(alternatives[0]) } : schema
}

function partOf(owner: object, name: string): Part {
  return asPart(Reflect.get(owner, name))
}

function asPart(value: unknown): Part {
  return isPart(value) ? value : {}
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
