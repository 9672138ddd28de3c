import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { itemTexts, keepNestedText, memberTexts } from './json-object.ts'

const keep = (text: string): unknown => keepNestedText(text, JSON.parse(text))

afterEach(() => {
  vi.restoreAllMocks()
})

describe('keepNestedText', () => {
  it('keeps objects and arrays with the text that was sent', () => {
    expect(keep('{"a":{"b": 1.0},"c":[ 2 ],"d":"[3]"}')).toEqual({
      a: { jsonText: '{"b": 1.0}', parsed: { b: 1 } },
      c: { jsonText: '[ 2 ]', parsed: [2] },
      d: '[3]',
    })
  })

  it.each([
    ['1.0', 1],
    ['1.50e1', 15],
    ['-0.0', -0],
    ['100e-2', 1],
    ['1.00000000000000000001', Number.NaN],
    ['1e-400', Number.NaN],
    ['1.5', 1.5],
  ])('reads the number %s as %d, or as NaN where digits would be lost', (text, number) => {
    expect(keep(`{"n": ${text} }`)).toEqual({ n: number })
  })

  it('reads no number of more than 1,000 characters as whole', () => {
    const text = `{"a":1.${'0'.repeat(998)},"b":1.${'0'.repeat(999)}}`
    expect(keep(text)).toEqual({ a: 1, b: Number.NaN })
  })

  // A search that restarts at each zero would take minutes.
  it('reads a number of a million digits in one pass', () => {
    expect(keep(`{"productId":1.${'0'.repeat(1_000_000)}1}`)).toEqual({ productId: Number.NaN })
  })

  it('parses no value again, with or without a rounded number', () => {
    const text = `{"n":1.0,"x":[${'[],'.repeat(10_000)}1]}`
    const value: unknown = JSON.parse(text)
    const parse = vi.spyOn(JSON, 'parse')
    keepNestedText(text, value)
    expect(parse.mock.calls).toEqual([['"n"'], ['"x"']])
  })
})

describe('memberTexts', () => {
  it.each<[string, Readonly<Record<string, string>>]>([
    ['{ }', {}],
    ['{"a":{"b":[1]},"a":2}', { a: '2' }],
    ['{"a":[ 1e2 ],"b":{"c":"}"}}', { a: '[ 1e2 ]', b: '{"c":"}"}' }],
    ['{"a\\"b" : [] , "":1.0}', { 'a"b': '[]', '': '1.0' }],
    ['{"a":"[]:,","b":"{\\"","c":[1]}', { a: '"[]:,"', b: '"{\\""', c: '[1]' }],
  ])('splits %s into the members %j, as they were written', (text, members) => {
    expect(Object.fromEntries(memberTexts(text))).toEqual(members)
  })

  it('returns the text of every member', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), fc.nat(1), (object, indent) => {
        const members = memberTexts(JSON.stringify(object, null, indent))
        const parsed = [...members].map(([key, text]) => [key, JSON.parse(text)])
        expect(parsed).toEqual(Object.entries(JSON.parse(JSON.stringify(object))))
      }),
    )
  })
})

describe('itemTexts', () => {
  it('returns the text of every item', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 2 })), fc.nat(1), (items, indent) => {
        const texts = itemTexts(JSON.stringify(items, null, indent))
        expect(texts.map((text) => JSON.parse(text))).toEqual(JSON.parse(JSON.stringify(items)))
      }),
    )
  })
})
