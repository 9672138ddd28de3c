import { afterEach, describe, expect, it, vi } from 'vitest'
import { CallError } from '../errors.ts'
import { builtInJson, parseJson } from './json.ts'

const TOO_DEEP = 'The body is nested deeper than 64 levels'
const TOO_MANY = 'There are more than 1000 keywords'
const FORBIDDEN = 'The body has a key with a forbidden name'

const members = (count: number): string => Array.from({ length: count }, (_, i) => `"${i}":[1,2]`).join(',')
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

afterEach(() => {
  vi.restoreAllMocks()
})

describe('parseJson', () => {
  it.each([
    ['1,000 members', `{${members(1_000)}}`],
    ['a list of more items', `[${'1,'.repeat(2_000)}1]`],
    ['64 levels', nested(64)],
    ['brackets and commas in texts', JSON.stringify({ a: `\\"${'[{,'.repeat(2_000)}` })],
    ['constructor without a prototype', '{"constructor":{"a":1}}'],
    ['a text with the name of a prototype', '{"a":"__proto__\\u0000"}'],
  ])('accepts %s', (_case, text) => {
    expect(parseJson(text, builtInJson)).toEqual(JSON.parse(text))
  })

  it.each([
    ['more than 1,000 members', ` {${members(1_001)}}`, TOO_MANY],
    ['a member that is there 1,001 times', `{${'"a":1,'.repeat(1_000)}"a":1}`, TOO_MANY],
    ['more than 64 levels', nested(65), TOO_DEEP],
    ['more than 64 levels in a member', `{"a":${nested(64)}}`, TOO_DEEP],
  ])('400: refuses %s before it parses values', (_case, text, message) => {
    const parse = vi.spyOn(JSON, 'parse')
    expect(() => parseJson(text, builtInJson)).toThrow(new CallError(400, message))
    expect(parse).not.toHaveBeenCalled()
  })

  it.each([
    ['{"__proto__":1}', FORBIDDEN],
    ['{"a":[{"\\u005f_proto__":1}]}', FORBIDDEN],
    ['{"constructor":{"prototype":1}}', FORBIDDEN],
    ['{"\\u0063onstructor":{"\\u0070rototype":1}}', FORBIDDEN],
    ['{"a":"', 'The body is no JSON'],
    [']]', 'The body is no JSON'],
  ])('400: refuses %s', (text, message) => {
    expect(() => parseJson(text, builtInJson)).toThrow(new CallError(400, message))
  })
})
