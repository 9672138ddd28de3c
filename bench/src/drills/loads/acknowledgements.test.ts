import { describe, expect, it } from 'vitest'
import { compareReferences, gapAfter } from './acknowledgements.ts'

describe('gapAfter', () => {
  it.each<[string, readonly number[], number | undefined]>([
    ['from the last answer before it to the first one after', [80, 95, 130, 140], 35],
    ['the longest, where some answers were still on their way', [80, 101, 160, 170], 59],
    ['none, where nothing came', [80, 95], undefined],
    ['without what came too late', [95, 120, 900], 25],
    ['from the fault, where nothing came before', [107], 7],
  ])('measures the silence: %s', (_name, times, silence) => {
    expect(gapAfter(times, 100, 500)).toBe(silence)
  })
})

describe('compareReferences', () => {
  it('reports acknowledged writes that are not there, and those that are there twice', () => {
    const found = new Map([
      ['a', 1],
      ['b', 2],
    ])
    expect(compareReferences(new Set(['a', 'b', 'c']), found)).toEqual({ lost: ['c'], doubled: ['b'] })
  })

  it('does not miss a write that was not acknowledged', () => {
    expect(compareReferences(new Set(), new Map([['unanswered', 1]]))).toEqual({ lost: [], doubled: [] })
  })
})
