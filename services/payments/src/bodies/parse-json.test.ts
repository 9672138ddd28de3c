import { describe, expect, it } from 'vitest'
import { parseJson } from './parse-json.ts'

describe('parseJson', () => {
  it.each([
    ['', {}],
    ['{}', {}],
    ['{"a":1,"a":2}', { a: 2 }],
    ['{"constructor":"x","prototype":1}', { constructor: 'x', prototype: 1 }],
    [nested(20), JSON.parse(nested(20))],
  ])('reads %j', (text, value) => {
    expect(parseJson(text)).toEqual({ value })
  })

  it.each([
    ['{', 'is not valid JSON'],
    [' ', 'is not valid JSON'],
    ['[]', 'must be an object'],
    ['null', 'must be an object'],
    ['"x"', 'must be an object'],
    ['{"a":{"__proto__":1}}', 'must not have a member __proto__'],
    ['{"a":[{"constructor":{"prototype":1}}]}', 'must not have a member constructor'],
    [nested(21), 'must not nest deeper than 20 levels'],
  ])('refuses %j', (text, message) => {
    expect(parseJson(text)).toEqual({ errors: [{ field: 'body', message, code: 'FORMAT' }] })
  })
})

function nested(levels: number): string {
  return '{"a":'.repeat(levels) + 1 + '}'.repeat(levels)
}
