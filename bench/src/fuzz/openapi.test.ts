import { describe, expect, it } from 'vitest'
import { findOperation, parseApiDocument } from './openapi.ts'

const answer = {
  responses: { '200': { content: { 'application/json': { schema: { $ref: '#/components/schemas/Product' } } } } },
}
const document = parseApiDocument({
  paths: {
    '/': { get: answer },
    '/products/{productId}': { get: answer, delete: answer },
    '/products/export': { get: answer },
  },
  components: { schemas: { Product: { type: 'object' } } },
})

describe('parseApiDocument', () => {
  it('lists operations and follows references', () => {
    expect(document.operations.map(({ name }) => name)).toEqual([
      ...['GET /', 'GET /products/{productId}', 'DELETE /products/{productId}', 'GET /products/export'],
    ])
    expect(document.resolve({ $ref: '#/components/schemas/Product' })).toEqual({ type: 'object' })
    expect(() => document.resolve({ $ref: '#/components/schemas/Other' })).toThrow('Other')
  })
})

describe('findOperation', () => {
  it.each([
    ['GET', '/', 'GET /'],
    ['GET', '/products/7', 'GET /products/{productId}'],
    ['GET', '/products/7/', 'GET /products/{productId}'],
    ['HEAD', '/products/7', 'GET /products/{productId}'],
    ['GET', '/products/export', 'GET /products/export'],
    ['DELETE', '/products/export', 'DELETE /products/{productId}'],
    ['POST', '/products/7', undefined],
    ['GET', '/products', undefined],
    ['GET', '/products//', 'GET /products/{productId}'],
    ['GET', '/Products/7', undefined],
  ])('%s %s reaches %s', (method, path, name) => {
    expect(findOperation(document.operations, method, path)?.name).toBe(name)
  })
})
