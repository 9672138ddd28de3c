import { describe, expect, it } from 'vitest'
import { judgeConfirmation } from './confirm-owner.ts'

const open = { isUnclaimed: true, hasVerifiedFactor: false }
const claimed = { isUnclaimed: false, hasVerifiedFactor: false }
const guarded = { isUnclaimed: false, hasVerifiedFactor: true }
const later = '2026-01-02T03:04:05.000000+00:00'

const user = { email: 'ann@example.com', invitedAt: null }
const own = { user, isFirstAddress: false, credentialSince: null }
const added = { ...own, credentialSince: later }
const withoutEmail = { ...own, user: { ...user, email: null } }
const invited = { ...own, user: { ...user, invitedAt: later } }
const accountEmail = { email: 'ann@example.com', isVerified: true }
const other = { email: 'ann@example.org', isVerified: true }

describe('judgeConfirmation', () => {
  it.each([
    ['an unclaimed account with the same email', own, accountEmail, open],
    ['an unclaimed account with another email', own, other, open],
    ['an unclaimed account whose provider gives no email', own, undefined, open],
    ['an account whose user was invited by another email', invited, other, open],
    [
      'an account whose user was invited, for an unverified email',
      invited,
      { ...accountEmail, isVerified: false },
      open,
    ],
    [
      'an account without an email whose user was invited, for no email',
      { ...invited, user: { ...invited.user, email: null } },
      undefined,
      open,
    ],
    ['an unclaimed account to which the identity was added later', added, accountEmail, open],
    ['an unclaimed account with a second factor', added, other, { ...open, hasVerifiedFactor: true }],
    [
      'an unclaimed account without an email whose identity has accountEmail one before',
      withoutEmail,
      accountEmail,
      open,
    ],
    [
      'an unclaimed account with an email whose identity gives one for the first time',
      { ...own, isFirstAddress: true },
      accountEmail,
      open,
    ],
  ])('takes over %s', (_account, owner, email, protection) => {
    expect(judgeConfirmation(owner, email, protection)).toBe('take-over')
  })

  it.each([
    ['signs in for the first time', invited],
    ['has linked the account at the provider later', { ...invited, credentialSince: later }],
  ])('accepts for an invited user with the invited email, who %s', (_user, owner) => {
    expect(judgeConfirmation(owner, accountEmail, open)).toBe('accept')
  })

  it.each([
    ['another email, for an identity that was added later', added, other],
    ['no email, for an identity that was added later', added, undefined],
    [
      'a first email, for an identity that was added later',
      { ...added, user: withoutEmail.user, isFirstAddress: true },
      accountEmail,
    ],
  ])('keeps the email of a claimed account with a second factor against %s', (_email, owner, email) => {
    expect(judgeConfirmation(owner, email, guarded)).toBe('keep-email')
  })

  it.each([
    ['a claimed account with the same email', own, accountEmail, claimed],
    ['a claimed account with another email', own, other, claimed],
    ['a claimed account whose user was invited', invited, accountEmail, claimed],
    ['a claimed account to which the identity was added later', added, other, claimed],
    ['an account with a second factor that has the email already', added, accountEmail, guarded],
    ['an account with a second factor that began with the identity', own, other, guarded],
    [
      'an unclaimed account without an email whose provider gives a first one',
      { ...withoutEmail, isFirstAddress: true },
      accountEmail,
      open,
    ],
  ])('confirms %s, which keeps everything', (_account, owner, email, protection) => {
    expect(judgeConfirmation(owner, email, protection)).toBe('confirm')
  })
})
