import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HIGHEST, LOWEST, type PageRequest, pageBounds } from './page-query.ts'

const [A, B] = ['65a1b2c30000000000000001', '65a1b2c30000000000000002']

describe('pageBounds', () => {
  it.each<[PageRequest, ReturnType<typeof pageBounds>]>([
    [{ limit: 1 }, { limit: 1, above: LOWEST, below: HIGHEST, order: 'newest-first' }],
    [
      { limit: 1000, before: B },
      { limit: 1000, above: LOWEST, below: B, order: 'newest-first' },
    ],
    [
      { limit: 2, after: A },
      { limit: 2, above: A, below: HIGHEST, order: 'oldest-first' },
    ],
    [
      { limit: 2, before: B, after: A },
      { limit: 2, above: A, below: B, order: 'newest-first' },
    ],
  ])('reads the bounds of %j as %j', (request, expected) => {
    expect(pageBounds(request)).toEqual(expected)
  })

  it('includes each id in its widest bounds', () => {
    expect('0'.repeat(24) > LOWEST && 'f'.repeat(24) < HIGHEST).toBe(true)
  })

  const ids = fc
    .uniqueArray(fc.integer({ min: 0, max: 0xffffff }), { maxLength: 60 })
    .map((numbers) => numbers.map(toId))
  const limit = fc.integer({ min: 1, max: 7 })

  it('pages by before contain each id once, whatever is inserted meanwhile', () => {
    fc.assert(
      fc.property(ids, limit, fc.array(fc.integer({ min: 0x1000000, max: 0x2000000 })), (first, size, later) => {
        const stored = new Set(first)
        const arriving = later.map(toId)
        const seen: string[] = []
        for (let before: string | undefined; ; before = seen.at(-1)) {
          const page = select(stored, { limit: size, before })
          seen.push(...page)
          const next = arriving.pop()
          if (next) stored.add(next)
          if (page.length < size) break
        }
        expect(seen).toEqual([...first].sort().reverse())
      }),
    )
  })

  it('pages by after contain each id once, oldest first, also those inserted meanwhile', () => {
    fc.assert(
      fc.property(ids, limit, fc.uniqueArray(fc.integer({ min: 0x1000000, max: 0x2000000 })), (first, size, later) => {
        const stored = new Set(first)
        const arriving = later.map(toId).sort().reverse()
        const seen: string[] = []
        for (let after = toId(-1); ; after = seen.at(-1) ?? after) {
          const page = select(stored, { limit: size, after })
          seen.push(...page)
          const next = arriving.pop()
          if (next) stored.add(next)
          else if (page.length < size) break
        }
        expect(seen).toEqual([...stored].sort())
      }),
    )
  })
})

/** Returns ids in the order of their numbers. The smallest number is -1. */
function toId(number: number): string {
  return (number + 1).toString(16).padStart(24, '0')
}

function select(stored: ReadonlySet<string>, request: PageRequest): string[] {
  const { limit, above, below, order } = pageBounds(request)
  const found = [...stored].filter((id) => id > above && id < below).sort()
  return (order === 'newest-first' ? found.reverse() : found).slice(0, limit)
}
