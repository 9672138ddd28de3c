import { describe, expect, it } from 'vitest'
import { nestJson, parseAttributePath, toJsonPath } from './attribute-path.ts'

describe('parseAttributePath', () => {
  it.each([
    ['color', ['color']],
    ['dim.w', ['dim', 'w']],
    ['"a.b".c', ['a.b', 'c']],
    ['"a\\"[]".b', ['a"[]', 'b']],
    ['a b', ['a b']],
    ['""', ['']],
    ['__proto__', ['__proto__']],
    ['a.a.a.a.a.a.a.a', Array(8).fill('a')],
  ])('reads the path %s', (text, path) => {
    expect(parseAttributePath(text)).toEqual(path)
  })

  it.each([
    '',
    '.',
    'a.',
    '.a',
    'a..b',
    'a"b"',
    '"a',
    '"a"b',
    'a[0]',
    '"\\x"',
    '"\\u0000"',
    '"\\ud800"',
    'a.a.a.a.a.a.a.a.a',
  ])('refuses the path %s', (text) => {
    expect(parseAttributePath(text)).toBeUndefined()
  })
})

it('quotes keys in jsonpath', () => {
  expect(toJsonPath(['a', 'b"] || true'])).toBe('strict $."a"."b\\"] || true"')
  expect(nestJson(['a', '"'], '1')).toBe('{"a":{"\\"":1}}')
})
