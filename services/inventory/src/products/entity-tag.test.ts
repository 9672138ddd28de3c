import { describe, expect, it } from 'vitest'
import { namesTag, productTag } from './entity-tag.ts'

describe('productTag', () => {
  it('is strong and changes with the version', () => {
    expect(productTag(6, 1)).toBe('"p6-1"')
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
  ])('%s: %s', (header, expected) => {
    expect(namesTag(header, '"p6-1"')).toBe(expected)
  })
})
