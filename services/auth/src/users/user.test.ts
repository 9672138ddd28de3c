import { describe, expect, it } from 'vitest'
import { userBanned } from '../errors.ts'
import { auditName, isBanned, isPendingSignUp, requireNotBanned } from './user.ts'

const now = new Date('2026-01-02T03:04:05.000Z')

describe('isBanned', () => {
  it.each([
    ['never banned', null, false],
    ['until a moment ago', '2026-01-02T03:04:04.999999+00:00', false],
    ['until this very moment', '2026-01-02T03:04:05.000000+00:00', false],
    ['a moment longer', '2026-01-02T03:04:05.001000+00:00', true],
  ])('judges a user who is banned %s', (_case, bannedUntil, expected) => {
    expect(isBanned({ bannedUntil }, now)).toBe(expected)
  })
})

describe('requireNotBanned', () => {
  it('refuses a user until the ban has ended', () => {
    expect(() => requireNotBanned({ bannedUntil: '2026-01-02T03:04:05.001000+00:00' }, now)).toThrow(userBanned())
    expect(() => requireNotBanned({ bannedUntil: '2026-01-02T03:04:05.000000+00:00' }, now)).not.toThrow()
  })
})

describe('isPendingSignUp', () => {
  it('is decided by the column alone', () => {
    expect(isPendingSignUp({ pendingSince: null })).toBe(false)
    expect(isPendingSignUp({ pendingSince: now.toISOString() })).toBe(true)
  })
})

describe('auditName', () => {
  it('is the phone, else the email, else empty', () => {
    expect(auditName({ email: 'a@b.c', phone: '14155550100' })).toBe('14155550100')
    expect(auditName({ email: 'a@b.c', phone: null })).toBe('a@b.c')
    expect(auditName({ email: null, phone: null })).toBe('')
  })
})
