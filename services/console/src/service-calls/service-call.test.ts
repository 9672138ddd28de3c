import { describe, expect, it } from 'vitest'
import { objectNotFound } from '../errors.ts'
import { parseJson, readAnswer, readRefusal, type ServiceName, urlOf } from './service-call.ts'

const answer = (changes: object, service: ServiceName = 'auth') => {
  const given = { status: 200, body: '', contentType: 'application/json', ...changes }
  return readAnswer(service, given as Parameters<typeof readAnswer>[1])
}

describe('urlOf', () => {
  it.each([
    ['http://localhost:1', 'http://localhost:1/operator/users/a%2Fb'],
    ['http://localhost:1/below', 'http://localhost:1/below/operator/users/a%2Fb'],
    ['http://LOCALHOST:80', 'http://LOCALHOST:80/operator/users/a%2Fb'],
  ])('names the object of a path at %s', (base, url) => {
    expect(urlOf(base, { path: '/operator/users/a%2Fb' })).toBe(url)
  })

  it.each([
    [{}, 'http://a/b'],
    [{ search: 'a&b=c', limit: 25, test: false }, 'http://a/b?search=a%26b%3Dc&limit=25&test=false'],
    [{ search: '', order: undefined }, 'http://a/b'],
  ])('writes the query %j as %s', (query, expected) => {
    expect(urlOf('http://a', { path: '/b', query })).toBe(expected)
  })

  it.each([
    '/operator/users/1/sessions/..',
    '/operator/users/1/sessions/.',
    '/operator/users/%2e',
    '/operator/users/1/sessions/%2E%2e',
    '/operator/users/',
    '/operator/users//ban',
    '/operator/users/1?soft=false',
    '/operator/users/1#top',
    '/operator/users/1\\2',
    '/operator/users/1\t',
  ])('404: refuses the path %j, which leads to another object', (path) => {
    expect(() => urlOf('http://localhost:1', { path })).toThrow(objectNotFound())
  })
})

describe('readAnswer', () => {
  it.each([
    ['<https://x/?cursor=abc>; rel="next"', 'abc'],
    ['</list?limit=2&cursor=a%2Bb>; rel=next', 'a+b'],
    ['</a>; rel="prev", </b?cursor=c>; rel="next"', 'c'],
    ['</b?cursor=c>; rel="prev"', undefined],
    ['</b>; rel="next"', undefined],
    ['nonsense', undefined],
    [undefined, undefined],
  ])('reads the cursor of the next page in the Link %j as %j', (link, expected) => {
    expect(answer({ link }).next).toBe(expected)
  })

  it.each([
    ['application/json; charset=utf-8', '{"a":1}', { a: 1 }],
    ['application/problem+json', '{"a":1}', { a: 1 }],
    ['application/json', '<html>', '<html>'],
    ['text/csv', '1', '1'],
  ])('reads a body of %s, which is %j, as %j', (contentType, body, expected) => {
    expect(answer({ contentType, body }).body).toEqual(expected)
  })

  it.each([
    ['inventory', '[0.10]'],
    ['payments', '[0.1]'],
    ['auth', '[0.1]'],
  ] as const)('keeps the digits of a number where the service promises them: %s', (service, expected) => {
    expect(JSON.stringify(answer({ body: '[0.10]' }, service).body)).toBe(expected)
  })
})

describe('parseJson', () => {
  it.each(['12345678901234567890', '0.10', '1e400', '[1.0,{"a":-0.0}]'])('keeps each digit of %s', (text) => {
    expect(JSON.stringify(parseJson(text))).toBe(text)
  })
})

describe('readRefusal', () => {
  it.each<[string, unknown, object]>([
    ['auth', { code: 'user_not_found', message: 'No user' }, { code: 'user_not_found', message: 'No user' }],
    [
      'payments, for fields',
      [
        { field: 'amount', message: 'is required', code: 'REQUIRED' },
        { field: 'iban', message: 'is not valid', code: 'FORMAT' },
      ],
      { code: 'FIELDS', message: 'amount: is required. iban: is not valid', field: 'amount' },
    ],
    [
      'inventory',
      { statusCode: 409, error: { type: 'CONFLICT', description: 'Taken' } },
      { code: 'CONFLICT', message: 'Taken' },
    ],
    [
      'inventory, for fields',
      {
        statusCode: 400,
        error: {
          type: 'VALIDATION_ERROR',
          description: 'sku: is required',
          issues: [{ path: 'sku', message: 'is required' }],
        },
      },
      { code: 'VALIDATION_ERROR', message: 'sku: is required', field: 'sku' },
    ],
    [
      'a proxy',
      '<html>Bad request</html>',
      { code: 'UNKNOWN', message: 'The service refuses this, and does not say why' },
    ],
  ])('reads the error of %s', (_service, body, expected) => {
    expect(readRefusal(body)).toEqual(expected)
  })
})
