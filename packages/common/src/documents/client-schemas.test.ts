import { describe, expect, it } from 'vitest'
import auth from '../../../../docs/openapi/auth.json' with { type: 'json' }
import inventory from '../../../../docs/openapi/inventory.json' with { type: 'json' }
import payments from '../../../../docs/openapi/payments.json' with { type: 'json' }
import { writeForClients } from './client-schemas.ts'

/** Returns a document with one operation whose JSON body has the schema. The document has already been rewritten for clients. */
function documentOf(schema: object, schemas: object = {}) {
  const body = { content: { 'application/json': { schema } } }
  const document = {
    paths: { '/things': { post: { operationId: 'createThing', requestBody: body, responses: {} } } },
    components: { schemas },
  }
  writeForClients(document)
  return { schema: body.content['application/json'].schema, schemas: document.components.schemas }
}

const REFERENCE = { $ref: '#/components/schemas/CreateThingRequest' }
// biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
const always = (rule: object) => ({ if: {}, then: rule })
const objectOf = (properties: object) => ({ type: 'object', properties })

describe('writeForClients', () => {
  it.each([
    [{ type: 'integer' }, 'int64'],
    [{ type: 'integer', minimum: 0 }, 'int64'],
    [{ type: 'integer', minimum: 0, maximum: 2 ** 31 }, 'int64'],
    [{ type: 'integer', minimum: -(2 ** 31) - 1, maximum: 0 }, 'int64'],
    [{ type: 'integer', maximum: 9 }, 'int64'],
    [{ type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 }, 'int32'],
    [{ type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }, 'int32'],
    [{ type: ['integer', 'null'], minimum: 1, maximum: 1000 }, 'int32'],
  ])('gives %j the width %s', (schema, format) => {
    expect(documentOf(schema).schema).toEqual({ ...schema, format })
  })

  it('gives integers a width wherever they stand, and leaves values alone', () => {
    const integer = () => ({ type: 'integer' })
    const content = (schema: object) => ({ content: { 'application/json': { schema } } })
    const build = (one: () => object) => ({
      paths: {},
      components: {
        headers: { 'X-Total-Count': { schema: one() }, default: { schema: one() } },
        responses: { Error400: content({ type: 'array', items: one() }) },
        schemas: {
          Rule: { allOf: [one()], not: one(), propertyNames: one(), contains: one(), prefixItems: [one()] },
          Thing: {
            type: 'object',
            additionalProperties: one(),
            properties: { default: one(), type: one(), list: { type: 'array', items: one() } },
            examples: [integer()],
            default: integer(),
          },
        },
      },
      webhooks: {
        changed: { post: { requestBody: content(one()), responses: { default: content({ oneOf: [one()] }) } } },
      },
    })
    const document = build(integer)
    writeForClients(document)
    expect(document).toEqual(build(() => ({ type: 'integer', format: 'int64' })))
  })

  it.each([
    [{ enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    [{ enum: [true] }, { type: 'boolean', enum: [true] }],
    [{ const: 7 }, { type: 'integer', const: 7, format: 'int32' }],
    [{ enum: [1, 2 ** 31] }, { type: 'integer', enum: [1, 2 ** 31], format: 'int64' }],
    [{ enum: ['a', null] }, { type: ['string', 'null'], enum: ['a', null] }],
  ])('states the type of the values of %j', (schema, expected) => {
    expect(documentOf(schema).schema).toEqual(expected)
  })

  it.each([
    [
      { description: 'Any', type: ['string', 'object', 'array'], pattern: 'a' },
      {
        description: 'Any',
        ...always({ anyOf: [{ type: 'string' }, { type: 'object' }, { type: 'array' }], pattern: 'a' }),
      },
    ],
    [
      {
        anyOf: [
          { type: 'string', format: 'date' },
          { type: 'string', format: 'date-time' },
        ],
      },
      {
        type: 'string',
        ...always({
          anyOf: [
            { type: 'string', format: 'date' },
            { type: 'string', format: 'date-time' },
          ],
        }),
      },
    ],
    [
      { anyOf: [{ enum: ['a'] }, { type: 'string', maxLength: 0 }, { type: 'null' }], description: 'Text' },
      {
        type: ['string', 'null'],
        description: 'Text',
        ...always({ anyOf: [{ enum: ['a'] }, { type: 'string', maxLength: 0 }, { type: 'null' }] }),
      },
    ],
    [
      { type: 'string', anyOf: [{ minLength: 6 }, { maxLength: 0 }] },
      { type: 'string', ...always({ anyOf: [{ minLength: 6 }, { maxLength: 0 }] }) },
    ],
    [
      { oneOf: [{ type: 'boolean' }, { type: 'string' }], default: true },
      { default: true, ...always({ oneOf: [{ type: 'boolean' }, { type: 'string' }] }) },
    ],
  ])('keeps the values of %j out of the sight of generators, and their type where all have one', (schema, expected) => {
    expect(documentOf(schema)).toEqual({ schema: expected, schemas: {} })
  })

  it('gives a member that is null alone any type, one that is true a boolean, and an object without members any', () => {
    const members = { a: { description: 'None', type: 'null' }, b: { type: 'object' }, c: { enum: [true] } }
    const { schemas } = documentOf(objectOf(members))
    expect(schemas).toEqual({
      CreateThingRequest: objectOf({
        a: { description: 'None', ...always({ type: 'null' }) },
        b: { additionalProperties: {}, type: 'object' },
        c: { type: 'boolean', ...always({ enum: [true] }) },
      }),
    })
  })

  it('names each object, items and alternatives after their owner', () => {
    const part = objectOf({ on: { type: 'boolean' } })
    const { schema, schemas } = documentOf(
      objectOf({
        card: part,
        lines: { type: 'array', items: part },
        limit: { anyOf: [{ type: 'string' }, part] },
        note: { ...part, type: ['object', 'null'] },
      }),
    )
    const to = (name: string) => ({ $ref: `#/components/schemas/CreateThingRequest${name}` })
    expect([schema, schemas]).toEqual([
      REFERENCE,
      {
        CreateThingRequestCard: part,
        CreateThingRequestLinesItem: part,
        CreateThingRequestLimitObject: part,
        CreateThingRequestLimit: { anyOf: [{ type: 'string' }, to('LimitObject')] },
        CreateThingRequestNote: part,
        CreateThingRequest: objectOf({
          card: to('Card'),
          lines: { type: 'array', items: to('LinesItem') },
          limit: to('Limit'),
          note: { anyOf: [to('Note'), { type: 'null' }] },
        }),
      },
    ])
  })

  it('keeps alternatives beside members out of the sight of generators', () => {
    const { schemas } = documentOf({ ...objectOf({ a: {}, b: {} }), anyOf: [{ required: ['a'] }, { required: ['b'] }] })
    expect(schemas).toEqual({
      CreateThingRequest: {
        ...objectOf({ a: {}, b: {} }),
        ...always({ anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
      },
    })
  })

  it('shows of an object in a parameter only the members that have a name', () => {
    const schema = { ...objectOf({ test: { type: 'boolean' } }), additionalProperties: { type: 'string' } }
    const parameter = { name: 'filter', in: 'query', schema }
    const operation = { operationId: 'listThings', parameters: [parameter], responses: {} }
    writeForClients({ paths: { '/things': { get: operation } }, components: {} })
    expect(parameter.schema).toEqual({
      ...objectOf({ test: { type: 'boolean' } }),
      ...always({ properties: { test: {} }, additionalProperties: { type: 'string' } }),
    })
  })

  it('keeps a condition of the schema below the one that always holds', () => {
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    const condition = { if: { required: ['a'] }, then: { required: ['c'] } }
    const { schemas } = documentOf({ ...objectOf({ a: {} }), ...condition, oneOf: [{ required: ['a'] }] })
    expect(schemas).toEqual({
      CreateThingRequest: {
        ...objectOf({ a: {} }),
        ...always({ oneOf: [{ required: ['a'] }], ...condition, else: {} }),
      },
    })
  })

  it('refuses two different schemas of one name', () => {
    const schemas = { CreateThingRequest: { type: 'string' } }
    expect(() => documentOf(objectOf({}), schemas)).toThrow('two schemas would have the name CreateThingRequest')
  })
})

/** Lists the paths, types and formats of all schemas in a value, including examples that look like a schema. */
function listTypes(value: unknown, path: string): readonly (readonly [string, unknown, unknown])[] {
  if (typeof value !== 'object' || value === null) return []
  const own = 'type' in value ? [[path, value.type, 'format' in value ? value.format : undefined] as const] : []
  return [...own, ...Object.entries(value).flatMap(([key, child]) => listTypes(child, `${path}/${key}`))]
}

it.each([
  ['auth', auth],
  ['payments', payments],
  ['inventory', inventory],
])('the document of %s has no integer without a width, and no value of three types', (name, document) => {
  const types = listTypes(document, name)
  const isNumber = (type: unknown) => type === 'integer' || (Array.isArray(type) && type.includes('integer'))
  expect(types.filter(([, type, format]) => isNumber(type) && format === undefined)).toEqual([])
  expect(types.filter(([, type]) => Array.isArray(type) && type.filter((each) => each !== 'null').length > 1)).toEqual(
    [],
  )
})
