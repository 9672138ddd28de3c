import { describe, expect, it } from 'vitest'
import { type EnrolmentVerdict, judgeActivation, judgeEnrolment } from './enrolment.ts'
import type { Factor } from './factor.ts'

const at = '2026-01-02T03:04:05.678000+00:00'
let count = 0
const factor = (changes: Partial<Factor> = {}): Factor => ({
  id: `00000000-0000-4000-8000-${String(++count).padStart(12, '0')}`,
  friendlyName: `factor ${count}`,
  factorType: 'totp',
  status: 'verified',
  phone: null,
  lastChallengedAt: null,
  createdAt: at,
  updatedAt: at,
  ...changes,
})
const unverified = { status: 'unverified' } as const
const phone = { factorType: 'phone', phone: '14155550100' } as const
const codes = { factorType: 'recovery_code', friendlyName: 'Recovery codes' } as const
const limits = { enrolledFactorsMax: 3, verifiedFactorsMax: 2 }
const app = { friendlyName: 'new', phone: undefined }
const samePhone = { friendlyName: 'new', phone: '14155550100' }

describe('judgeEnrolment', () => {
  it.each<[string, readonly Factor[], typeof app | typeof samePhone, 'aal1' | 'aal2', EnrolmentVerdict]>([
    ['the first', [], app, 'aal1', 'allowed'],
    ['beside one that is not verified', [factor(unverified)], app, 'aal1', 'allowed'],
    ['beside a verified one', [factor()], app, 'aal1', 'needs-aal2'],
    ['beside a verified one that was shown', [factor()], app, 'aal2', 'allowed'],
    ['as many as may be', [factor(unverified), factor(unverified)], app, 'aal1', 'allowed'],
    ['one more', [factor(unverified), factor(unverified), factor(unverified)], app, 'aal1', 'too-many'],
    ['one more than may be verified', [factor(), factor()], app, 'aal2', 'too-many'],
    ['recovery codes are not counted', [factor(), factor(codes)], app, 'aal2', 'allowed'],
    ['their name is', [factor(), factor(codes)], { ...app, friendlyName: 'Recovery codes' }, 'aal2', 'name-taken'],
    [
      'a name with spaces around',
      [factor({ friendlyName: 'new' })],
      { ...app, friendlyName: ' new ' },
      'aal2',
      'name-taken',
    ],
    ['a second without a name', [factor({ friendlyName: null })], { ...app, friendlyName: '' }, 'aal2', 'name-taken'],
    ['the phone of a verified factor', [factor(phone)], samePhone, 'aal2', 'phone-verified'],
    [
      'that of an unverified one, which makes way',
      [factor({ ...phone, ...unverified, friendlyName: 'new' })],
      samePhone,
      'aal1',
      'allowed',
    ],
  ])('judges the enrolment of a factor: %s', (...row) => {
    const [, factors, wanted, aal, verdict] = row
    expect(judgeEnrolment(factors, wanted, aal, limits)).toBe(verdict)
  })
})

describe('judgeActivation', () => {
  it.each<[string, readonly Factor[], 'aal1' | 'aal2', EnrolmentVerdict]>([
    ['the first', [factor(unverified)], 'aal1', 'allowed'],
    ['beside a verified one', [factor(unverified), factor()], 'aal1', 'needs-aal2'],
    ['beside a verified one that was shown', [factor(unverified), factor()], 'aal2', 'allowed'],
    ['one more than may be verified', [factor(unverified), factor(), factor()], 'aal2', 'too-many'],
    ['beside recovery codes', [factor(unverified), factor(codes)], 'aal1', 'allowed'],
  ])('judges the activation of a factor: %s', (_, factors, aal, verdict) => {
    expect(judgeActivation(factors, aal, limits)).toBe(verdict)
  })
})
