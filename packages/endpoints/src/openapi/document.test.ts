import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { moduleFolder } from '../../test/start.ts'
import { errorBody } from '../../test/whole-answers.ts'
import {
  Application,
  type Args,
  accepts,
  authBearer,
  Controller,
  docsController,
  type OpenApiDocument,
  p,
  rateLimit,
  requireScopes,
} from '../endpoints.ts'

const Product = z
  .object({ id: z.int(), made: z.iso.datetime(), tags: z.array(z.string()).default([]) })
  .meta({ id: 'Product' })

class Default extends Controller {
  GET() {
    return null
  }
}

class Robots_txt extends Controller {
  static GET = accepts({ returns: z.string() })
  GET() {
    return ''
  }
}

class Products extends Controller {
  static override use = [authBearer(() => ({ scopes: ['read'] })), requireScopes('read')]

  static GET = accepts({
    path: [p.int({ min: 1 }).optional()],
    keywords: z.object({ limit: p.int({ max: 500 }).default(50), q: z.string() }),
    returns: z.array(Product),
    summary: 'List products',
    description: 'All of them',
    tags: ['stock'],
    deprecated: true,
    version: ['v1'],
  })
  GET(...[_id]: Args<typeof Products.GET>) {
    return []
  }

  static POST = accepts({ keywords: Product, status: 201, use: [rateLimit({ limit: 1, ttlSeconds: 1 })] })
  POST() {}

  static PUT_file = accepts({
    keywords: z.object({ file: z.file(), more: p.list(z.file()).optional(), note: z.string().optional() }),
  })
  PUT_file() {}

  static POST_batch = accepts({ path: [z.string()], body: 'positionals' })
  POST_batch() {}

  static POST_raw = accepts({
    keywords: z.object({ name: z.string() }),
    body: 'raw',
    responses: { 304: 'As before', 422: 'Not like this' },
  })
  POST_raw() {}

  static GET_file = accepts({ type: 'application/x-ndjson', types: ['text/csv'], status: 200 })
  GET_file() {}

  static DELETE_hidden = accepts({ hidden: true })
  DELETE_hidden() {}
}

class Reflected extends Controller {
  ANY(_a: string, _b = '', ..._rest: string[]) {}
  GET_search({ q, page = '1' }: { q: string; page?: string }) {
    return [q, page]
  }
  POST_search({ q, ...more }: { q: string }) {
    return [q, more]
  }
}

class Open extends Controller {
  static override cors = true
  GET(_id: string) {}
  DELETE(_key: string) {}
}

const modules = {
  index: { Default, Robots_txt, Docs: docsController() },
  'shop/stock': { Products },
  foo: { Reflected, Open, Bar_ext: class extends Default {} },
}

let app: Application
let document: OpenApiDocument
beforeAll(async () => {
  app = await new Application({ modules, info: { title: 'Shop', version: '1.2.3' } }).ready()
  document = app.openapi()
})

/** Returns the verb and path of each operation, by id. */
function operations({ paths }: OpenApiDocument): Record<string, string> {
  const entries = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, { operationId }]) => [operationId, `${verb} ${path}`]),
  )
  return Object.fromEntries(entries)
}

it('is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate({ ...structuredClone(document) })
  expect(result).toEqual({ valid: true })
  expect([document.openapi, document.info]).toEqual(['3.1.0', { title: 'Shop', version: '1.2.3' }])
})

it('has a path for each number of positionals, and an id for each operation', () => {
  expect(operations(document)).toEqual({
    get: 'get /',
    getRobotsTxt: 'get /robots.txt',
    getFooBarExt: 'get /foo/bar.ext',
    getFooOpenWithId: 'get /foo/open/{id}',
    deleteFooOpenWithId: 'delete /foo/open/{id}',
    optionsFooOpenWithId: 'options /foo/open/{id}',
    getFooReflectedSearch: 'get /foo/reflected/search',
    postFooReflectedSearch: 'post /foo/reflected/search',
    ...Object.fromEntries(
      ['get', 'post', 'put', 'patch', 'delete'].flatMap((verb) => [
        [`${verb}FooReflectedWithA`, `${verb} /foo/reflected/{a}`],
        [`${verb}FooReflectedWithAB`, `${verb} /foo/reflected/{a}/{b}`],
        [`${verb}FooReflectedWithABRest`, `${verb} /foo/reflected/{a}/{b}/{rest}`],
      ]),
    ),
    getShopStockProducts: 'get /shop/stock/products',
    getShopStockProductsFile: 'get /shop/stock/products/file',
    getShopStockProductsWithId: 'get /shop/stock/products/{id}',
    postShopStockProducts: 'post /shop/stock/products',
    putShopStockProductsFile: 'put /shop/stock/products/file',
    postShopStockProductsBatch: 'post /shop/stock/products/batch',
    postShopStockProductsBatchWithArg1: 'post /shop/stock/products/batch/{arg1}',
    postShopStockProductsRaw: 'post /shop/stock/products/raw',
  })
})

describe('an operation', () => {
  const operation = (verb: string, path: string) => document.paths[path]?.[verb] ?? { operationId: 'none' }

  it('has the texts and schemas of its declaration', () => {
    const listed = operation('get', '/shop/stock/products/{id}')
    const { operationId, responses, ...declared } = listed
    expect(declared).toEqual({
      tags: ['stock'],
      summary: 'List products',
      description: 'All of them',
      deprecated: true,
      security: [{ bearer: [] }],
      parameters: [
        {
          name: 'id',
          in: 'path',
          required: true,
          schema: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
        },
        {
          name: 'limit',
          in: 'query',
          schema: { type: 'integer', format: 'int64', minimum: Number.MIN_SAFE_INTEGER, maximum: 500, default: 50 },
        },
        { name: 'q', in: 'query', required: true, schema: { type: 'string' } },
      ],
    })
    expect(Object.keys(responses ?? {})).toEqual(['200', '400', '401', '403', '404', '406', '500'])
    const items = { type: 'array', items: { $ref: '#/components/schemas/Product' } }
    expect(responses).toHaveProperty(['200', 'content'], { 'application/json': { schema: items } })
    expect(responses).toHaveProperty(['404', 'content'], {
      'application/json': { schema: { $ref: '#/components/schemas/Error' } },
    })
  })

  it('states the width of each integer, wherever it stands', async () => {
    const whole = {
      type: 'integer',
      format: 'int64',
      minimum: Number.MIN_SAFE_INTEGER,
      maximum: Number.MAX_SAFE_INTEGER,
    }
    class Widths extends Controller {
      static POST = accepts({
        keywords: z.object({
          text: p.int(),
          json: z.int(),
          number: z.number().int(),
          near: p.int({ min: 0, max: 2 ** 31 - 1 }),
          int32: z.int32(),
          next: z
            .int()
            .min(0)
            .max(2 ** 31),
          below: z
            .int()
            .min(-(2 ** 31) - 1)
            .max(0),
          list: p.list(p.int()),
          either: z.union([z.int(), z.string()]),
          nullable: z.int().nullable(),
          by: z.record(z.string(), z.int()),
          preset: p.int().default(3),
          narrowed: p.int({ min: 1, max: 100 }).default(20).meta({ description: 'How many' }),
          metaBounds: p.int().meta({ minimum: 1, maximum: 100 }).optional(),
        }),
        returns: z.object({ id: z.int().meta({ id: 'Named' }) }),
      })
      POST() {}
    }
    const widths = await new Application({ modules: { index: { Widths } } }).ready()
    const { paths, components } = widths.openapi()
    const schema = {
      type: 'object',
      additionalProperties: false,
      required: ['text', 'json', 'number', 'near', 'int32', 'next', 'below', 'list', 'either', 'nullable', 'by'],
      properties: {
        text: whole,
        json: whole,
        number: whole,
        near: { type: 'integer', format: 'int32', minimum: 0, maximum: 2 ** 31 - 1 },
        int32: { type: 'integer', format: 'int32', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
        next: { type: 'integer', format: 'int64', minimum: 0, maximum: 2 ** 31 },
        below: { type: 'integer', format: 'int64', minimum: -(2 ** 31) - 1, maximum: 0 },
        list: { type: 'array', items: whole, maxItems: 1_000 },
        either: { anyOf: [whole, { type: 'string' }] },
        nullable: { anyOf: [whole, { type: 'null' }] },
        by: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: whole },
        preset: { ...whole, default: 3 },
        narrowed: { type: 'integer', format: 'int32', minimum: 1, maximum: 100, default: 20, description: 'How many' },
        metaBounds: { type: 'integer', format: 'int32', minimum: 1, maximum: 100 },
      },
    }
    expect(paths['/widths']?.post).toHaveProperty('requestBody.content', {
      'application/json': { schema },
      'application/x-www-form-urlencoded': { schema },
    })
    expect(components.schemas.Named).toEqual(whole)
    expect(components.schemas.Error).toHaveProperty('properties.statusCode', whole)
  })

  it('has a body when its verb has one', () => {
    const created = operation('post', '/shop/stock/products')
    const schema = { $ref: '#/components/schemas/ProductInput' }
    expect(created.requestBody).toEqual({
      required: false,
      content: { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema } },
    })
    expect(Object.keys(created.responses ?? {})).toEqual(['201', '400', '401', '403', '413', '415', '429', '500'])
    expect(operation('put', '/shop/stock/products/file').requestBody).toEqual({
      content: {
        'multipart/form-data': {
          schema: {
            required: ['file'],
            additionalProperties: false,
            type: 'object',
            properties: {
              file: { type: 'string', format: 'binary', contentEncoding: 'binary' },
              more: {
                type: 'array',
                items: { type: 'string', format: 'binary', contentEncoding: 'binary' },
                maxItems: 1_000,
              },
              note: { type: 'string' },
            },
          },
        },
      },
      required: true,
    })
    const { parameters, requestBody, responses } = operation('post', '/shop/stock/products/raw')
    expect(parameters).toEqual([{ name: 'name', in: 'query', required: true, schema: { type: 'string' } }])
    expect(requestBody).toEqual({ content: { '*/*': {} } })
    expect(responses).toHaveProperty(['422', 'description'], 'Not like this')
    expect(responses).toHaveProperty(['422', 'content', 'application/json'])
    expect(responses).toHaveProperty(['304'], { description: 'As before' })
    expect(operation('post', '/foo/reflected/search').requestBody).toEqual({
      content: {
        'application/json': {
          schema: { properties: { q: {} }, required: ['q'], additionalProperties: true, type: 'object' },
        },
        'application/x-www-form-urlencoded': {
          schema: { type: 'object', properties: { q: {} }, required: ['q'], additionalProperties: true },
        },
      },
      required: true,
    })
  })

  it('has the parameters of an undeclared handler', () => {
    expect(operation('get', '/foo/reflected/search').parameters).toEqual([
      { name: 'q', in: 'query', required: true, schema: { type: 'string' } },
      { name: 'page', in: 'query', schema: { type: 'string' } },
    ])
    expect(operation('get', '/foo/reflected/{a}/{b}/{rest}').parameters).toEqual([
      { name: 'a', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'b', in: 'path', required: true, schema: { type: 'string' } },
      { name: 'rest', 'x-rest': true, in: 'path', required: true, schema: { type: 'string' } },
    ])
    expect(operation('get', '/').tags).toEqual(['root'])
    expect(operation('get', '/foo/reflected/search').tags).toEqual(['foo'])
  })

  it('has the media type of its class', () => {
    const content = { 'text/plain': { schema: { type: 'string' } } }
    expect(operation('get', '/robots.txt').responses).toEqual({
      200: { content, description: 'Success' },
      400: {
        description: 'Malformed or invalid',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
      500: {
        description: 'Unexpected error',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    })
  })

  it('has each media type that its handler may set', () => {
    const content = { 'application/x-ndjson': {}, 'text/csv': {} }
    expect(operation('get', '/shop/stock/products/file').responses).toHaveProperty(['200', 'content'], content)
  })

  it('documents 400 even when it accepts no keyword', async () => {
    expect(Object.keys(operation('get', '/').responses ?? {})).toEqual(['200', '204', '400', '500'])
    const refused = await app.inject({ path: '/?__proto__=1' })
    expect([refused.status, await refused.json()]).toEqual([
      400,
      errorBody(400, 'BAD_REQUEST', 'A keyword has a forbidden name'),
    ])
  })

  it('may be a preflight request', () => {
    expect(operation('options', '/foo/open/{id}')).toEqual({
      tags: ['foo'],
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      responses: {
        204: { description: 'Which origins and verbs are allowed' },
        403: { description: 'This origin is not allowed' },
      },
      operationId: 'optionsFooOpenWithId',
    })
  })

  it('answers with something other than 404', async () => {
    for (const [path, verbs] of Object.entries(document.paths)) {
      for (const verb of Object.keys(verbs)) {
        const target = path.replaceAll(/\{\w+\}/g, '1')
        const { status } = await app.inject({ method: verb.toUpperCase(), path: target })
        expect(status, `${verb} ${target}`).not.toBe(404)
        expect(status, `${verb} ${target}`).not.toBe(405)
      }
    }
  })
})

it('fails when two operations would have one id', async () => {
  class FooBar extends Default {}
  class Bar extends Default {}
  const clashing = await new Application({ modules: { index: { FooBar }, foo: { Bar } } }).ready()
  expect(() => clashing.openapi()).toThrow('GET /foo/bar and GET /foo-bar would both be the operation getFooBar')
})

it('has the title of the nearest package.json', async () => {
  using folder = moduleFolder({
    'package.json': '{"name":"shop","version":"3.2.1","description":"sells"}',
    'src/a.txt': '',
  })
  const shop = await new Application({ modules, dir: `${folder.path}/src` }).ready()
  expect(shop.openapi().info).toEqual({ title: 'shop', version: '3.2.1', description: 'sells' })
})

it('shows the schema of errors with an errorBody, or none', async () => {
  const errorBody = () => ({})
  const bare = await new Application({ modules, errorBody }).ready()
  expect(bare.openapi().paths['/']?.get).toEqual({
    responses: {
      400: { description: 'Malformed or invalid' },
      200: { description: 'Success' },
      204: { description: 'Success, with nothing to say' },
      500: { description: 'Unexpected error' },
    },
    operationId: 'get',
    tags: ['root'],
  })
  expect(JSON.stringify(bare.openapi())).not.toContain('#/components/schemas/Error')
  const own = await new Application({
    modules,
    errorBody,
    errorSchema: z.object({ title: z.string() }).meta({ id: 'Problem' }),
  }).ready()
  expect(own.openapi().components.schemas).toHaveProperty('Problem')
})

describe('docsController', () => {
  it('200: serves the document, and a page that loads nothing from elsewhere', async () => {
    expect(await (await app.inject({ path: '/docs/openapi.json' })).json()).toEqual(document)
    const page = await app.inject({ path: '/docs' })
    const html = await page.text()
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'nonce-[\w-]+'/)
    expect(html).toContain('data-document="/docs/openapi.json"')
    expect(html).not.toMatch(/https?:|\/\/[a-z]|@import/)
  })
})
