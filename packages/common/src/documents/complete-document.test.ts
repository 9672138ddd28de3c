import { describe, expect, it } from 'vitest'
import { allowNull, completeDocument, type DocumentNotes } from './complete-document.ts'

const operation = {
  operationId: 'createThing',
  tags: ['things'],
  requestBody: { content: { 'application/json': { schema: { type: 'object', additionalProperties: {} } } } },
  responses: {
    200: { description: 'Default Response', content: { 'application/json': { schema: {} } } },
    401: { description: 'No bearer' },
    404: { description: 'Default Response' },
  },
}
const document = { openapi: '3.1.0', info: { title: 'Example' }, paths: { '/things': { post: operation } } }
const notes: DocumentNotes = {
  servers: [{ url: '/', description: 'This process' }],
  tags: [{ name: 'things', description: 'What there is.' }],
}
const header = { description: 'Which API', schema: { type: 'string' } }

describe('completeDocument', () => {
  it('adds servers, tags, a license and webhooks', () => {
    const { paths: _paths, ...rest } = completeDocument(document, { ...notes, webhooks: { made: { post: {} } } })
    expect(rest).toEqual({
      openapi: '3.1.0',
      info: { title: 'Example', license: { name: 'MIT', identifier: 'MIT' } },
      ...notes,
      components: {
        headers: {},
        responses: { Error401: { description: 'No bearer' }, Error404: { description: 'Not found' } },
      },
      webhooks: { made: { post: {} } },
    })
  })

  it('adds headers of requests and of answers, and a description of each status', () => {
    const { components, paths } = completeDocument(
      { ...document, components: {} },
      {
        ...notes,
        requestHeaders: ({ operationId }) => (operationId === 'createThing' ? { 'X-Version': header } : {}),
        answerHeaders: ({ method, path }, status) =>
          `${method} ${path} ${status}` === 'POST /things 401' ? { 'WWW-Authenticate': header } : {},
      },
    )
    expect(paths['/things'].post).toEqual({
      ...operation,
      parameters: [{ name: 'X-Version', in: 'header', ...header }],
      responses: {
        200: { ...operation.responses[200], description: 'Done' },
        401: { $ref: '#/components/responses/Error401' },
        404: { $ref: '#/components/responses/Error404' },
      },
    })
    expect(components).toEqual({
      headers: { 'WWW-Authenticate': header },
      responses: {
        Error401: {
          description: 'No bearer',
          headers: { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } },
        },
        Error404: { description: 'Not found' },
      },
    })
    expect(document.paths['/things'].post).toBe(operation)
  })

  it('describes parameters by their schemas, by their names, and ids by their objects', () => {
    const described = {
      name: 'limit',
      in: 'query',
      schema: { type: 'integer', format: 'int64', description: 'How many' },
    }
    const parameters = [
      { name: 'thingId', in: 'path' },
      { name: 'color', in: 'query' },
      { name: 'size', in: 'query', description: 'How large' },
      described,
    ]
    const paths = { '/things': { post: { ...operation, parameters } } }
    const complete = completeDocument({ ...document, paths }, { ...notes, parameters: { color: 'Which color' } })
    expect(complete.paths['/things'].post.parameters).toEqual([
      { name: 'thingId', in: 'path', description: 'The id of the thing' },
      { name: 'color', in: 'query', description: 'Which color' },
      { name: 'size', in: 'query', description: 'How large' },
      described,
    ])
  })

  it('adds examples of a request and of its answers', () => {
    const example = { summary: 'A red one', request: { body: { color: 'red' } }, answers: { 200: { id: 1 } } }
    const { paths } = completeDocument(document, { ...notes, examples: { createThing: { red: example } } })
    const { requestBody, responses } = paths['/things'].post
    expect([requestBody.content, responses[200].content]).toEqual([
      {
        'application/json': {
          schema: { type: 'object', additionalProperties: {} },
          examples: { red: { summary: 'A red one', value: { color: 'red' } } },
        },
      },
      { 'application/json': { schema: {}, examples: { red: { summary: 'A red one', value: { id: 1 } } } } },
    ])
  })

  it('shares the answer with an error that most operations have', () => {
    const answers = ['No page', 'No thing', 'No thing'].map((description) => ({ 404: { description } }))
    const gets = answers.map((responses, at) => ({ operationId: `read${at}`, tags: ['things'], responses }))
    const complete = completeDocument({ components: {}, ...operations(...gets) }, notes)
    expect(complete.components).toEqual({ headers: {}, responses: { Error404: { description: 'No thing' } } })
    const shared = { 404: { $ref: '#/components/responses/Error404' } }
    expect(Object.values(complete.paths).map(({ get }) => Reflect.get(get, 'responses'))).toEqual([
      answers[0],
      shared,
      shared,
    ])
  })

  const operations = (...list: readonly object[]) => ({
    paths: Object.fromEntries(list.map((get, at) => [`/${at}`, { get }])),
  })
  it.each([
    [
      'a parameter that nothing describes',
      operations({ operationId: 'a', tags: ['things'], parameters: [{ name: 'color', in: 'query' }] }),
      {},
      'GET /0 does not describe color',
    ],
    ['an operation without an id', operations({ tags: ['things'] }), {}, 'GET /0 has no operationId'],
    [
      'an id that two operations have',
      operations({ ...operation }, { ...operation }),
      {},
      'two operations have the operationId createThing',
    ],
    [
      'an operation without a tag',
      operations({ operationId: 'a', tags: ['others'] }),
      {},
      'GET /0 has no tag of the document',
    ],
    [
      'an example of no operation',
      document,
      { examples: { deleteThing: {} } },
      'there are examples of deleteThing, which is no operation',
    ],
    [
      'an example of an answer without a body',
      document,
      { examples: { createThing: { a: { answers: { 404: {} } } } } },
      'createThing has no application/json for the example a',
    ],
  ])('refuses %s', (_, wrong, more, message) => {
    expect(() => completeDocument(wrong, { ...notes, ...more })).toThrow(message)
  })
})

describe('allowNull', () => {
  it.each([
    [
      { type: 'string', minLength: 1 },
      { type: ['string', 'null'], minLength: 1 },
    ],
    [
      { type: 'string', enum: ['a'] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [{ anyOf: [{ type: 'string' }] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    [{ $ref: '#/x' }, { anyOf: [{ $ref: '#/x' }, { type: 'null' }] }],
    [{}, {}],
    [{ readOnly: true }, { readOnly: true }],
    [{ type: 'null' }, { type: 'null' }],
  ])('lets an optional member %j also be null', (member, expected) => {
    const of = (value: object) => ({
      paths: {
        '/things': {
          put: {
            requestBody: {
              content: {
                'application/json': { schema: { properties: { needed: member, other: value }, required: ['needed'] } },
              },
            },
          },
        },
      },
    })
    expect(allowNull(of(member))).toEqual(of(expected))
  })

  it('leaves a member alone that an alternative needs, unless the alternative describes it', () => {
    const text = { type: 'string' }
    const of = (described: object, other: object) => {
      const anyOf = [{ required: ['named', 'described'], properties: { described: text } }]
      const schema = { properties: { named: text, described, other }, anyOf }
      const content = { 'application/json': { schema } }
      return { paths: { '/things': { put: { requestBody: { content } } } } }
    }
    const orNull = { type: ['string', 'null'] }
    expect(allowNull(of(text, text))).toEqual(of(orNull, orNull))
  })
})
