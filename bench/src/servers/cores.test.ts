import { describe, expect, it } from 'vitest'
import { divideCores, pinned } from './cores.ts'

describe('divideCores', () => {
  it.each([
    [1, undefined],
    [2, { server: '0', load: '1', database: '1', all: '0-1' }],
    [8, { server: '0', load: '1', database: '2-7', all: '0-7' }],
  ])('divides %d cores as %j', (count, cores) => {
    expect(divideCores(count)).toEqual(cores)
  })
})

describe('pinned', () => {
  it('starts a program on its cores, or on any core', () => {
    expect(pinned('2-3', 'node', ['a.ts'])).toEqual(['taskset', '-c', '2-3', 'node', 'a.ts'])
    expect(pinned(undefined, 'node', ['a.ts'])).toEqual(['node', 'a.ts'])
  })
})
