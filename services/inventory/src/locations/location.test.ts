import { describe, expect, it } from 'vitest'
import { duplicateCode, locationChanged, locationNotFound } from '../errors.ts'
import { requireFreeCode, requireLocation, requireSameLocation } from './location.ts'

const found = { id: 1, code: 'MAIN' }

describe('requireLocation', () => {
  it.each(['not-found', 'location-not-found', undefined] as const)(
    'refuses %s, with the details it is given',
    (none) => {
      expect(() => requireLocation(none)).toThrow(locationNotFound())
      expect(() => requireLocation(none, { line: 3 })).toThrow(locationNotFound({ details: { line: 3 } }))
    },
  )

  it('returns what was found', () => {
    expect(requireLocation(found)).toBe(found)
  })
})

describe('requireSameLocation', () => {
  it('tells a location that is gone from one with another version', () => {
    expect(() => requireSameLocation('not-found')).toThrow(locationNotFound())
    expect(() => requireSameLocation('stale')).toThrow(locationChanged())
    expect(requireSameLocation(found)).toBe(found)
  })
})

describe('requireFreeCode', () => {
  it('refuses a code that another location has, and returns what was written', () => {
    expect(() => requireFreeCode('duplicate-code')).toThrow(duplicateCode())
    expect(requireFreeCode(found)).toBe(found)
  })
})
