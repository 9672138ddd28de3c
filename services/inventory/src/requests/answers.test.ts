import { describe, expect, it } from 'vitest'
import { matchedVersions, namesTag, productTag } from './answers.ts'

describe('productTag', () => {
  it('is strong, and changes with the version', () => {
    expect(productTag(6, 1)).toBe('"p6-1"')
  })

  it('changes with the members that include shows', () => {
    const tags = ['{"stock":1}', '{"stock":2}'].map((shown) => productTag(6, 1, shown))
    expect(tags[0]).toMatch(/^"p6-1-[\w-]{22}"$/)
    expect(tags[0]).not.toBe(tags[1])
    expect(matchedVersions(tags.join(), 'p', 6)).toEqual([1, 1])
  })
})

describe('namesTag', () => {
  it.each([
    ['*', true],
    ['"p6-1"', true],
    ['W/"p6-1"', true],
    ['"x", W/"p6-1" ,"y"', true],
    ['"p6-2"', false],
    ['p6-1', false],
    ['', false],
  ])('judges the header %s as %s', (header, expected) => {
    expect(namesTag(header, '"p6-1"')).toBe(expected)
  })
})

describe('matchedVersions', () => {
  it.each([
    ['*', undefined],
    ['"p7-1"', [1]],
    ['"p7-1", "p7-3","p8-2"', [1, 3]],
    ['W/"p7-1"', []],
    ['"l7-1"', []],
    ['p7-1', []],
    ['', []],
  ])('reads the versions of %s as %j', (header, versions) => {
    expect(matchedVersions(header, 'p', 7)).toEqual(versions)
  })
})
