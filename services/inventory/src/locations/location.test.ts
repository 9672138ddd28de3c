import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { duplicateCode, locationChanged, locationNotFound } from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { requireFreeCode, requireLocation, requireSameLocation } from './location.ts'
import { LocationBody, LocationPatch } from './location-body.ts'

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

/** The problems of a body by the path of the value. */
function problemsOf(schema: z.ZodType, body: unknown): Record<string, string> {
  const { error } = schema.safeParse(body)
  return Object.fromEntries((error?.issues ?? []).map(({ path, message }) => [path.join('.'), message]))
}

describe('LocationBody', () => {
  it('makes a location that takes stock, unless it says otherwise', () => {
    expect(LocationBody.parse({ code: 'A.b_1-2', name: 'Shelf' })).toEqual({
      code: 'A.b_1-2',
      name: 'Shelf',
      active: true,
    })
    expect(LocationBody.parse({ code: 'x'.repeat(64), name: 'Shelf', active: false }).active).toBe(false)
  })

  it.each(['', 'x'.repeat(65), 'MA IN', 'MÄIN', 'a/b', 'a\n'])('refuses the code %j', (code) => {
    expect(problemsOf(LocationBody, { code, name: 'Shelf' })).toEqual({ code: FIELD_TEXTS.notCode })
  })

  it('names every member that is wrong', () => {
    expect(problemsOf(LocationBody, { code: 7, name: ' ', active: 'maybe' })).toEqual({
      code: FIELD_TEXTS.notString,
      name: FIELD_TEXTS.empty,
      active: 'must be true or false',
    })
  })
})

describe('LocationPatch', () => {
  it.each([{ code: 'A' }, { name: 'Shelf' }, { active: false }])('takes one member alone: %j', (change) => {
    expect(LocationPatch.parse(change)).toEqual(change)
  })

  it.each([{}, { code: undefined }])('refuses a change of nothing: %j', (change) => {
    expect(problemsOf(LocationPatch, change)).toEqual({ '': FIELD_TEXTS.noLocationMember })
  })
})
