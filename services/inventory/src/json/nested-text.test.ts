import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasMoreItems, nestedTexts } from './nested-text.ts'

describe('nestedTexts', () => {
  it.each<[string, Readonly<Record<string, string>>]>([
    ['{}', {}],
    ['{"a":{"b":[1]},"a":2}', { a: '{"b":[1]}' }],
    ['{"a":[ 1e2 ],"b":{"c":"}"}}', { a: '[ 1e2 ]', b: '{"c":"}"}' }],
    ['{"a\\"b":[]}', { 'a"b': '[]' }],
    ['{"a":"[]","b":"{\\"","c":[1]}', { c: '[1]' }],
  ])('%s', (text, nested) => {
    expect(Object.fromEntries(nestedTexts(text))).toEqual(nested)
  })

  it('gives every member that is an object or an array as its own text', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (object) => {
        const nested = nestedTexts(JSON.stringify(object))
        const expected = Object.entries(JSON.parse(JSON.stringify(object))).filter(
          ([, value]) => Object(value) === value,
        )
        expect([...nested].map(([key, text]) => [key, JSON.parse(text)])).toEqual(expected)
      }),
    )
  })
})

describe('hasMoreItems', () => {
  it('agrees with the length of the array', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 2 })), fc.integer({ min: 1, max: 12 }), (items, most) => {
        expect(hasMoreItems(JSON.stringify(items, null, 1), most)).toBe(items.length > most)
      }),
    )
  })
})
