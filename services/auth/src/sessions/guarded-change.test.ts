import { describe, expect, it } from 'vitest'
import { type GuardedChange, type GuardedChangeVerdict, judgeGuardedChange } from './guarded-change.ts'

describe('judgeGuardedChange', () => {
  const usual: GuardedChange = { guard: 'none', lacksFactor: false, isSsoUser: false, hasNonce: false }
  const cases: readonly (readonly [Partial<GuardedChange>, GuardedChangeVerdict])[] = [
    [{}, 'allowed'],
    [{ hasNonce: true }, 'allowed'],
    [{ isSsoUser: true }, 'allowed'],
    [{ isSsoUser: true, hasNonce: true }, 'managed-elsewhere'],
    [{ guard: 'sign-ins' }, 'fresh-sign-in-needed'],
    [{ guard: 'sign-ins', hasNonce: true }, 'fresh-sign-in-needed'],
    [{ guard: 'sign-ins', isSsoUser: true }, 'managed-elsewhere'],
    [{ guard: 'sign-ins', lacksFactor: true }, 'second-factor-needed'],
    [{ guard: 'sign-ins', lacksFactor: true, isSsoUser: true, hasNonce: true }, 'second-factor-needed'],
    [{ guard: 'admin' }, 'fresh-sign-in-needed'],
    [{ guard: 'admin', isSsoUser: true }, 'fresh-sign-in-needed'],
    [{ guard: 'admin', isSsoUser: true, hasNonce: true }, 'managed-elsewhere'],
    [{ guard: 'admin', lacksFactor: true }, 'admin-factor-needed'],
    [{ guard: 'admin', lacksFactor: true, isSsoUser: true, hasNonce: true }, 'admin-factor-needed'],
  ]

  it.each(cases)('a change with %o ends in the verdict %s', (change, verdict) => {
    expect(judgeGuardedChange({ ...usual, ...change })).toBe(verdict)
  })
})
