import { describe, expect, it } from 'vitest'
import { findAllowedMethods, isKnownMethod, listAllMethods } from './allowed-methods.ts'

const ROUTES = [
  { method: 'POST', url: '/products' },
  { method: 'GET', url: '/products' },
  { method: 'GET', url: '/products/:productId' },
  { method: 'DELETE', url: '/products/:productId' },
  { method: 'GET', url: '/' },
]

describe('findAllowedMethods', () => {
  it.each([
    [[], ['GET', 'HEAD', 'OPTIONS']],
    [['products'], ['GET', 'HEAD', 'POST', 'OPTIONS']],
    [
      ['products', 'abc'],
      ['GET', 'HEAD', 'DELETE', 'OPTIONS'],
    ],
    [['products', '1', '2'], undefined],
    [['__proto__'], undefined],
  ])('/%j: %j', (parts, expected) => {
    expect(findAllowedMethods(ROUTES, parts)).toEqual(expected)
  })
})

it('lists every method of the table', () => {
  expect(listAllMethods(ROUTES)).toEqual(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'])
})

it.each([
  ['PATCH', true],
  ['PROPFIND', false],
  ['get', false],
])('knows %s: %s', (method, expected) => {
  expect(isKnownMethod(method)).toBe(expected)
})
