/**
 * Rewrites the schemas of an OpenAPI document for client generators of typed languages. An integer states its width, a listed
 * value its type, and a nested object or union gets a name. Rules that no type can express move below an `if` that always holds.
 * Otherwise generators truncate integers to 32 bits, reuse names, omit operations, or generate clients that do not compile.
 * @param document is changed
 * @throws Error if two different schemas would have the same name
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

/** Stores a schema under a name, and returns the name. */
type AddSchema = (name: string, schema: DocumentPart) => string

/** Names the schemas of a body. The names of other media types than JSON have a suffix. */
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

/** Returns a reference to the schema if the schema needs a name. Otherwise returns the schema with described members. */
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

/** Returns whether a schema is an object with members, or a union of more than one value and `null`. */
function isNamed({ properties, anyOf, oneOf }: DocumentPart): boolean {
  const union = [...listOf(anyOf), ...listOf(oneOf)].filter((each) => asPart(each).type !== 'null')
  return isPart(properties) || union.length > 1
}

/** Describes the nested schemas of a schema: its members, items and alternatives. */
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
    // Here alternatives say which members belong together. Generators would omit the members, so hide the alternatives.
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

/** Rewrites a member that is always `null` or the same boolean, because generators have no such types. */
function describeMember(schema: DocumentPart, name: string, add: AddSchema): DocumentPart {
  const { type, enum: values, const: value, ...rest } = stateType(schema)
  if (type === 'null') return hideRule(rest, { type })
  const isOneBoolean = type === 'boolean' && (values !== undefined || value !== undefined)
  if (!isOneBoolean) return toReference(schema, name, add)
  return hideRule({ type, ...rest }, value === undefined ? { enum: values } : { const: value })
}

/** Whether a union consists of several values that are not objects. Generators handle it differently, or fail. */
function isPlain(choices: readonly DocumentPart[]): boolean {
  const values = choices.filter(({ type }) => type !== 'null')
  return values.length > 1 && values.every((each) => each.$ref === undefined && !isNamed(each))
}

/** Returns the type that all alternatives share, plus `null` if `null` is one of the alternatives. */
function commonType(choices: readonly DocumentPart[]): DocumentPart {
  const types = [...new Set(choices.map((each) => stateType(each).type))]
  if (types.some((type) => typeof type !== 'string')) return {}
  const isNullable = types.includes('null')
  const [type, ...others] = types.filter((each) => each !== 'null')
  return type === undefined || others.length > 0 ? {} : { type: isNullable ? [type, 'null'] : type }
}

/** Hides the type of additional members of an object. For a parameter, generators would otherwise treat the object as a map. */
function hideOthers(schema: DocumentPart): DocumentPart {
  const { additionalProperties, ...rest } = schema
  if (!isPart(schema.properties) || !isPart(additionalProperties)) return schema
  const properties = Object.fromEntries(Object.keys(schema.properties).map((member) => [member, {}]))
  return hideRule(rest, { properties, additionalProperties })
}

/** Adds a rule to a schema in a form that generators ignore. For a validator, the rule always applies. */
function hideRule({ if: condition, then, else: otherwise, ...schema }: DocumentPart, rule: DocumentPart): DocumentPart {
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  const own = { ...(condition !== undefined && { if: condition, then: then ?? {}, else: otherwise ?? {} }) }
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  return { ...schema, if: {}, then: { ...rule, ...own } }
}

/** Members of a document that are maps. The keys of a map are arbitrary names, such as the names of properties. */
const MAPS: ReadonlySet<string> = new Set(['properties', 'schemas', 'responses', 'headers'])
/** Members of a document that contain values instead of schemas. */
const VALUES: ReadonlySet<string> = new Set(['default', 'enum', 'const', 'example', 'examples'])

/** States the width of each integer in a part of a document: in paths, headers, webhooks and named schemas. */
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

/** States the type of listed values. Also states that an object without described members may have any members. */
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

/** Hides a list of types. Generators support such a list only for one type and `null`. */
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
  /** The method in upper case. */
  readonly method: string
  /** The path with parameters in braces, such as `/merchants/{merchantId}`. */
  readonly path: string
  readonly operationId: string
  readonly tags: readonly string[]
}

export interface OperationPart {
  readonly operation: DocumentedOperation
  /** The operation in the document. The caller may change it. */
  readonly part: DocumentPart
}

const METHODS: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'])

/** Returns the operations of a document, in their order. */
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

/** Returns a value as an object that may be changed, or an empty object if it is not an object. */
export function asPart(value: unknown): DocumentPart {
  return isPart(value) ? value : {}
}

/** Returns whether a value is an object and not a list. */
export function isPart(value: unknown): value is DocumentPart {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a value as a list, or an empty list if it is not a list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
