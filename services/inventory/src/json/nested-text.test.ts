import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { itemTexts, memberTexts } from './nested-text.ts'

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
