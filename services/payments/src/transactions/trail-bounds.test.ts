import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { describe, expect, it } from 'vitest'
import { amountsLeft } from './trail-bounds.ts'

const AMOUNTS = { pending: 500n, captured: 400n, refunded: 60n, disputed: 40n }

describe('the amounts that a trail leaves', () => {
  it.each<[length: number, role: OperatorRole, capture: number, refund: number, voided: number]>([
    [0, 'support', 500, 300, 500],
    [59, 'support', 500, 300, 500],
    [60, 'support', 500, 0, 500],
    [60, 'admin', 500, 300, 500],
    [60, 'viewer', 500, 300, 500],
    [199, 'admin', 500, 300, 500],
    [200, 'admin', 0, 300, 500],
    [299, 'admin', 0, 300, 500],
    [300, 'admin', 0, 0, 0],
  ])('with %i entries, the role %s may capture %i, refund %i, void %i and dispute 300', (...given) => {
    const [length, role, capture, refund, voided] = given
    const left = { capture, refund, void: voided, dispute: 300 }
    expect(amountsLeft({ ...AMOUNTS, trail: { length } }, role)).toEqual(left)
  })
})
