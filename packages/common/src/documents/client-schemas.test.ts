import { describe, expect, it } from 'vitest'
import { writeForClients } from './client-schemas.ts'

/** A document with one operation whose JSON body has a schema, after it was written for clients. */
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
const objectOf = (properties: object) => ({ type: 'object', properties })

describe('writeForClients', () => {
  it.each([
    [{ type: 'integer' }, 'int64'],
    [{ type: 'integer', minimum: 0 }, 'int64'],
    [{ type: 'integer', minimum: 0, maximum: 2 ** 31 }, 'int64'],
    [{ type: 'integer', minimum: -(2 ** 31) - 1, maximum: 0 }, 'int64'],
    [{ type: 'integer', maximum: 9 }, 'int64'],
    [{ type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 }, 'int32'],
    [{ type: ['integer', 'null'], minimum: 1, maximum: 1000 }, 'int32'],
  ])('gives %j the width %s', (schema, format) => {
    expect(documentOf(schema).schema).toEqual({ ...schema, format })
  })

  it.each([
    [{ enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
    [{ enum: [true] }, { type: 'boolean', enum: [true] }],
    [{ const: 7 }, { type: 'integer', const: 7 }],
    [{ enum: ['a', null] }, { type: ['string', 'null'], enum: ['a', null] }],
  ])('states the type of the values of %j', (schema, expected) => {
    expect(documentOf(schema).schema).toEqual(expected)
  })

  it('divides a list of types into alternatives, each with the limits of its type', () => {
    const { schema, schemas } = documentOf({ description: 'Any', type: ['string', 'object', 'array'], pattern: 'a' })
    expect([schema, schemas]).toEqual([
      REFERENCE,
      {
        CreateThingRequest: {
          description: 'Any',
          anyOf: [{ type: 'string', pattern: 'a' }, { type: 'object' }, { type: 'array', items: {} }],
        },
      },
    ])
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
        not: { not: { anyOf: [{ required: ['a'] }, { required: ['b'] }] } },
      },
    })
  })

  it('refuses two different schemas of one name', () => {
    const schemas = { CreateThingRequest: { type: 'string' } }
    expect(() => documentOf(objectOf({}), schemas)).toThrow('two schemas would have the name CreateThingRequest')
  })
})
