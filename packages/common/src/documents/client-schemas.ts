/**
 * Writes the schemas of an OpenAPI document so that generators of clients in typed languages read them: an integer states its
 * width, a value its type, and an object or a union within another one has a name of its own, by which the owner refers to it.
 * Rules that no type can say stand below an `if` that always holds. Without these, generators cut integers to 32 bits, give two
 * schemas one name, leave an operation out, or write a client that no compiler takes.
 * @param document is changed
 * @throws Error when two different schemas would have the same name
 */
export function writeForClients(document: object): void {
  const components = asPart(Reflect.get(document, 'components'))
  const named = new Map(Object.entries(asPart(components.schemas)))
  const add = (name: string, schema: DocumentPart): string => {
    const known = named.get(name)
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
      throw new Error(`two schemas would have the name ${name}`)
    }
    named.set(name, schema)
    return name
  }
  for (const [name, schema] of [...named]) named.set(name, describeMembers(asPart(schema), name, add))
  for (const { operation, part } of listOperations(document)) {
    const name = capitalize(operation.operationId)
    for (const parameter of listOf(part.parameters).map(asPart)) {
      if (!isPart(parameter.schema)) continue
      parameter.schema = describeMembers(
        hideOthers(parameter.schema),
        `${name}${capitalize(String(parameter.name))}`,
        add,
      )
    }
    nameContent(part.requestBody, `${name}Request`, add)
    const answers = Object.entries(asPart(part.responses))
    const [success] = answers.find(([status]) => Number(status) < 300) ?? []
    for (const [status, answer] of answers) {
      nameContent(answer, `${name}${status === success ? '' : status}Answer`, add)
    }
  }
  for (const [name, answer] of Object.entries(asPart(components.responses))) nameContent(answer, name, add)
  if (named.size > 0) components.schemas = Object.fromEntries(named)
  stateWidths(document)
}

/** Keeps a schema under a name. */
type AddSchema = (name: string, schema: DocumentPart) => string

/** Names the schemas of a body by its media type: JSON by the name alone, others by the last word of their type too. */
function nameContent(owner: unknown, name: string, add: AddSchema): void {
  for (const [mediaType, value] of Object.entries(asPart(asPart(owner).content))) {
    const content = asPart(value)
    const suffix = mediaType === 'application/json' ? '' : MEDIA_NAMES[mediaType]
    if (suffix !== undefined && isPart(content.schema)) content.schema = toReference(content.schema, name + suffix, add)
  }
}

const MEDIA_NAMES: Readonly<Record<string, string>> = {
  'application/x-www-form-urlencoded': 'Form',
  'multipart/form-data': 'Parts',
}

/** A reference to a schema that needs a name, and any other schema as it is, with described members. */
function toReference(schema: DocumentPart, name: string, add: AddSchema): DocumentPart {
  const { type, ...rest } = schema
  const types = listOf(type)
  if (types.includes('null') && isPart(schema.properties)) {
    const object = toReference({ type: types.find((each) => each !== 'null'), ...rest }, name, add)
    return { anyOf: [object, { type: 'null' }] }
  }
  const described = describeMembers(schema, name, add)
  return isNamed(described) ? { $ref: `#/components/schemas/${add(name, described)}` } : described
}

/** An object with members, or a union of more than a value or null. */
function isNamed({ properties, anyOf, oneOf }: DocumentPart): boolean {
  const union = [...listOf(anyOf), ...listOf(oneOf)].filter((each) => asPart(each).type !== 'null')
  return isPart(properties) || union.length > 1
}

/** Describes what stands in a schema: its members, items and alternatives. */
function describeMembers(schema: DocumentPart, name: string, add: AddSchema): DocumentPart {
  const { anyOf, oneOf, properties, items, additionalProperties, not, ...rest } = schema
  const union = (list: unknown): readonly unknown[] => {
    const isAlone = listOf(list).filter((each) => isNamed(asPart(each))).length === 1
    return listOf(list).map((each, at) => toReference(asPart(each), `${name}${isAlone ? 'Object' : at + 1}`, add))
  }
  const alternatives = { ...(Array.isArray(anyOf) && { anyOf }), ...(Array.isArray(oneOf) && { oneOf }) }
  const own = {
    ...rest,
    ...(isPart(properties) && { properties: describeProperties(properties, name, add) }),
    ...(isPart(items) && { items: toReference(items, `${name}Item`, add) }),
    ...(isPart(additionalProperties) && {
      additionalProperties: toReference(additionalProperties, `${name}Value`, add),
    }),
  }
  const choices = [...listOf(anyOf), ...listOf(oneOf)].map(asPart)
  if (choices.length > 0 && (isPart(properties) || isPlain(choices))) {
    // Alternatives beside members say which members go together. Generators would take them for a union without the members.
    return hideRule(stateType({ ...commonType(choices), ...own }), {
      ...alternatives,
      ...(not !== undefined && { not }),
    })
  }
  const unions = Object.entries(alternatives).map(([kind, list]) => [kind, union(list)])
  return hideTypes(stateType({ ...own, ...Object.fromEntries(unions), ...(not !== undefined && { not }) }))
}

function describeProperties(properties: DocumentPart, name: string, add: AddSchema): DocumentPart {
  const described = Object.entries(properties).map(([member, schema]) => [
    member,
    isPart(schema) ? describeMember(schema, `${name}${capitalize(member)}`, add) : schema,
  ])
  return Object.fromEntries(described)
}

/** A member that is null alone has no type, and one that is a single boolean is a boolean: generators have no such types. */
function describeMember(schema: DocumentPart, name: string, add: AddSchema): DocumentPart {
  const { type, enum: values, const: value, ...rest } = stateType(schema)
  if (type === 'null') return hideRule(rest, { type })
  const isOneBoolean = type === 'boolean' && (values !== undefined || value !== undefined)
  if (!isOneBoolean) return toReference(schema, name, add)
  return hideRule({ type, ...rest }, value === undefined ? { enum: values } : { const: value })
}

/** Whether a union is of several values without members. Of such a union, each generator makes something else, or fails. */
function isPlain(choices: readonly DocumentPart[]): boolean {
  const values = choices.filter(({ type }) => type !== 'null')
  return values.length > 1 && values.every((each) => each.$ref === undefined && !isNamed(each))
}

/** The type that all alternatives have, with null where it is one of them. */
function commonType(choices: readonly DocumentPart[]): DocumentPart {
  const types = [...new Set(choices.map((each) => stateType(each).type))]
  if (types.some((type) => typeof type !== 'string')) return {}
  const isNullable = types.includes('null')
  const [type, ...others] = types.filter((each) => each !== 'null')
  return type === undefined || others.length > 0 ? {} : { type: isNullable ? [type, 'null'] : type }
}

/** An object with members whose other members have a type: as a parameter, generators take it for a map. */
function hideOthers(schema: DocumentPart): DocumentPart {
  const { additionalProperties, ...rest } = schema
  if (!isPart(schema.properties) || !isPart(additionalProperties)) return schema
  const properties = Object.fromEntries(Object.keys(schema.properties).map((member) => [member, {}]))
  return hideRule(rest, { properties, additionalProperties })
}

/** A schema with a rule that generators leave out. To a validator, it always holds. */
function hideRule({ if: condition, then, else: otherwise, ...schema }: DocumentPart, rule: DocumentPart): DocumentPart {
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  const own = { ...(condition !== undefined && { if: condition, then: then ?? {}, else: otherwise ?? {} }) }
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  return { ...schema, if: {}, then: { ...rule, ...own } }
}

/** Members of a document whose members have names of others, such as those of a schema or an answer. */
const MAPS: ReadonlySet<string> = new Set(['properties', 'schemas', 'responses', 'headers'])
/** Members of a document that are values, and no schemas. */
const VALUES: ReadonlySet<string> = new Set(['default', 'enum', 'const', 'example', 'examples'])

/** States the width of each integer in a part of a document: of its paths, headers, messages to others and named schemas. */
function stateWidths(part: unknown, name = ''): void {
  for (const item of listOf(part)) stateWidths(item)
  if (!isPart(part)) return
  const { type, minimum, maximum, enum: values } = part
  if (type === 'integer' || listOf(type).includes('integer')) {
    const bounds = 'const' in part ? [part.const] : Array.isArray(values) ? values : [minimum, maximum]
    const isNarrow = bounds.every((bound) => Number(bound) >= -(2 ** 31) && Number(bound) < 2 ** 31)
    part.format ??= isNarrow ? 'int32' : 'int64'
  }
  for (const [member, value] of Object.entries(part))
    if (MAPS.has(name) || !VALUES.has(member)) stateWidths(value, member)
}

/** States the type of listed values, and that an object without members may have any. */
function stateType(schema: DocumentPart): DocumentPart {
  const { type, enum: values, const: value } = schema
  if (type === 'object' && schema.properties === undefined) return { additionalProperties: {}, ...schema }
  const listed = Array.isArray(values) ? values : value === undefined ? [] : [value]
  if (type !== undefined || listed.length === 0) return schema
  const types = [...new Set(listed.map(typeOf))]
  return { type: types.length === 1 ? types[0] : types, ...schema }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** A value of several types has none, because generators know no list of types but with null. */
function hideTypes(schema: DocumentPart): DocumentPart {
  const { type, description, default: otherwise, ...limits } = schema
  if (!Array.isArray(type) || type.filter((each) => each !== 'null').length < 2) return schema
  const notes = {
    ...(description !== undefined && { description }),
    ...(otherwise !== undefined && { default: otherwise }),
  }
  return hideRule(notes, { anyOf: type.map((each) => ({ type: each })), ...limits })
}

function capitalize(name: string): string {
  return name.replaceAll(/(?:^|[^a-zA-Z0-9]+)([a-zA-Z0-9]|$)/g, (_, first: string) => first.toUpperCase())
}

export type DocumentPart = Record<string, unknown>

export interface DocumentedOperation {
  /** In upper case. */
  readonly method: string
  /** With parameters in braces: `/merchants/{merchantId}`. */
  readonly path: string
  readonly operationId: string
  readonly tags: readonly string[]
}

export interface OperationPart {
  readonly operation: DocumentedOperation
  /** The operation itself, which the caller may change. */
  readonly part: DocumentPart
}

const METHODS: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'])

/** The operations of a document, in its order. */
export function listOperations(document: object): readonly OperationPart[] {
  return Object.entries(asPart(Reflect.get(document, 'paths'))).flatMap(([path, item]) =>
    Object.entries(asPart(item))
      .filter(([method]) => METHODS.has(method))
      .map(([method, value]) => {
        const part = asPart(value)
        const { operationId, tags } = part
        const names = Array.isArray(tags) ? tags.map(String) : []
        return {
          operation: { method: method.toUpperCase(), path, operationId: String(operationId ?? ''), tags: names },
          part,
        }
      }),
  )
}

/** A value as an object that may be changed; an empty one for anything else. */
export function asPart(value: unknown): DocumentPart {
  return isPart(value) ? value : {}
}

/** Whether a value is an object, and no list. */
export function isPart(value: unknown): value is DocumentPart {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value as a list; an empty one for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
