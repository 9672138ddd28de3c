import { describe, expect, it } from 'vitest'
import { readRequestTarget } from './request-target.ts'

describe('readRequestTarget', () => {
  it.each([
    ['/', []],
    ['/products', ['products']],
    ['//products///1/', ['products', '1']],
    ['/%70roducts', ['products']],
    ['/a%20b+c', ['a b+c']],
    ['/%252e%252e', ['%2e%2e']],
    ['/__proto__/constructor', ['__proto__', 'constructor']],
    ['/products?', ['products']],
    ['/products?a=%20&b=?', ['products']],
    ['http://host/products', ['products']],
    ['http://host', []],
    [`/${'a/'.repeat(128)}`, Array.from({ length: 128 }, () => 'a')],
    [`/${'a'.repeat(8_191)}`, ['a'.repeat(8_191)]],
  ])('%s is a path', (target, parts) => {
    expect(readRequestTarget('GET', target)).toEqual({ verdict: 'path', parts })
  })

  it.each([
    '/%zz',
    '/%4',
    '/%c0%af',
    '/%ed%a0%80',
    '/%00',
    '/a%0ab',
    '/%7f',
    '/.',
    '/a/../b',
    '/%2e%2E',
    '/.%2E',
    '/a%2Fb',
    '/a%5cb',
    '/a\\b',
    '/a#b',
    '/a?b=%zz',
    '*',
    'host:80',
    '',
    `/?${'a&'.repeat(1_000)}a`,
  ])('%s is malformed', (target) => {
    expect(readRequestTarget('GET', target)).toEqual({ verdict: 'malformed' })
  })

  it.each([`/${'a'.repeat(8_192)}`, `/${'a/'.repeat(129)}`])('%s is too long', (target) => {
    expect(readRequestTarget('GET', target)).toEqual({ verdict: 'too-long' })
  })

  it('takes * with OPTIONS for the server', () => {
    expect(readRequestTarget('OPTIONS', '*')).toEqual({ verdict: 'server' })
  })
})
