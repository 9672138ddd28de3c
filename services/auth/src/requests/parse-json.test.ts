import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseJson } from './parse-json.ts'

const fieldsOf = (count: number) => Array.from({ length: count }, (_, at) => `"f${at}":${at}`).join()

describe('parseJson', () => {
  it.each([
    ['', undefined],
    ['  ', undefined],
    ['{}', {}],
    ['{"a":null,"b":{"c":null}}', { b: { c: null } }],
    ['{"a":[{"constructor":1,"x":2}],"prototype":3}', { a: [{ x: 2 }] }],
    [`{"a":"${'['.repeat(100)}\\"${'{'.repeat(100)}"}`, { a: `${'['.repeat(100)}"${'{'.repeat(100)}` }],
  ])('reads %j as %j, without NULL and dangerous names', (text, expected) => {
    expect(parseJson(text)).toEqual(expected)
  })

  // ASVS 1.5.2, 15.3.6
  it('drops a member __proto__, so that no prototype changes', () => {
    const parsed = parseJson('{"data":{"__proto__":{"admin":true},"x":1}}')
    expect(JSON.stringify(parsed)).toBe('{"data":{"x":1}}')
    expect(Object.getPrototypeOf(parsed?.data)).toBe(Object.prototype)
  })

  // ASVS 1.3.3, 2.2.1, 15.2.2
  it.each([
    ['{', 'Could not parse request body as JSON: the body is not JSON from character 2 on'],
    ['{"a":1,}', 'Could not parse request body as JSON: the body is not JSON from character 8 on'],
    ['=%00', /^Could not parse request body as JSON: the body is not JSON$/],
    ['[]', 'Could not parse request body as JSON: the body is not an object'],
    ['"x"', 'Could not parse request body as JSON: the body is not an object'],
    ['null', 'Could not parse request body as JSON: the body is not an object'],
    [`{"a":${'['.repeat(64)}${']'.repeat(64)}}`, 'nesting deeper than 64 levels'],
    ['['.repeat(500_000), 'nesting deeper than 64 levels'],
    [`{"a":[${'"a,b",'.repeat(20_000)}1]}`, 'more than 10000 members'],
    [`{${fieldsOf(101)}}`, 'more than 100 fields'],
    [`{"a":{${fieldsOf(9_900)}},${fieldsOf(100)}}`, 'more than 100 fields'],
    ['{"a":"\\u0000"}', 'Text may not contain NUL characters or lone surrogates'],
    ['{"a":["\\ud800"]}', 'Text may not contain NUL characters or lone surrogates'],
    ['{"\\udc00":1}', 'Text may not contain NUL characters or lone surrogates'],
  ])('refuses %.40s', (text, message) => {
    expect(() => parseJson(text)).toThrow(message)
  })

  it('accepts 10000 members, and any number of commas in texts', () => {
    expect(() => parseJson(`{"a":["${','.repeat(20_000)}"${',1'.repeat(9_999)}]}`)).not.toThrow()
  })

  it('accepts 100 fields, and more within one', () => {
    const parsed = parseJson(`{${fieldsOf(99)},"data":{${fieldsOf(9_000)}}}`)
    expect(Object.keys(parsed ?? {})).toHaveLength(100)
    expect(Object.keys(parsed?.data ?? {})).toHaveLength(9_000)
  })

  it('accepts 64 levels', () => {
    expect(() => parseJson(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`)).not.toThrow()
  })

  it('does not repeat the body in its message', () => {
    expect(() => parseJson('{"password": "secret" oops}')).toThrow(/^(?!.*secret)/s)
  })

  it('reads every other object as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.jsonValue({ maxDepth: 5 })), (value) => {
        const text = JSON.stringify(value)
        if (/\\u0000|\\ud[89a-f]|null|__proto__|constructor|prototype/i.test(text)) return
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })
})
