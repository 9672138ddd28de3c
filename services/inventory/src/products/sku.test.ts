import { describe, expect, it } from 'vitest'
import { findSkuProblem } from './sku.ts'

describe('findSkuProblem', () => {
  it.each(['A', 'a b', 'Ω-1', "'; DROP TABLE products; --", 'x'.repeat(255), '😀'.repeat(255)])('accepts %s', (sku) => {
    expect(findSkuProblem(sku)).toBeUndefined()
  })

  // ASVS 1.3.3
  it.each([
    ['', 'must not be empty'],
    [' A', 'must not begin or end with white space'],
    ['A\u00a0', 'must not begin or end with white space'],
    ['A\nB', 'must not hold control characters'],
    ['A\u0000', 'must not hold control characters'],
    ['A\u0085B', 'must not hold control characters'],
    ['\ud83d', 'must be well-formed Unicode'],
    ['x'.repeat(256), 'must have at most 255 characters'],
    ['😀'.repeat(256), 'must have at most 255 characters'],
  ])('refuses %j: %s', (sku, problem) => {
    expect(findSkuProblem(sku)).toBe(problem)
  })
})
