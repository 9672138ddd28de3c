import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { factorRow } from '../../test/factor-row.ts'
import { createSignedIn, type SignedIn } from '../../test/signed-in.ts'
import { sessionNotFound, userBanned } from '../errors.ts'
import {
  enrolNeedsSecondFactor,
  factorNameTaken,
  phoneEnrolDisabled,
  phoneFactorExists,
  tooManyFactors,
} from '../factor-errors.ts'
import type { TokenUser } from '../sessions/token-user.ts'
import { enrolFactor, type NewFactor } from './enrol-factor.ts'

const MAX_ENROLLED = 3
const DAY_MS = 86_400_000
const PHONE = '14155550100'

const test = await openTestApp({
  settings: {
    AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
    AUTH_MFA_MAX_ENROLLED_FACTORS: String(MAX_ENROLLED),
    AUTH_MFA_MAX_VERIFIED_FACTORS: '2',
  },
})
const { deps, clock, close } = test
afterAll(close)

const APP: NewFactor = { type: 'totp', friendlyName: 'my app', phone: undefined }
const BY_PHONE: NewFactor = { type: 'phone', friendlyName: 'my phone', phone: PHONE }

function enrol({ user, sessionId }: SignedIn, wanted: NewFactor = APP, changes: Partial<TokenUser> = {}) {
  const caller = { userId: user.id, sessionId, aal: 'aal1', audiences: ['authenticated'], isAdmin: false } as const
  return enrolFactor(deps, { caller: { ...caller, ...changes }, wanted, ip: '192.0.2.1' })
}

const store = ({ user }: SignedIn, ...factors: readonly object[]) =>
  deps.db
    .insertInto('mfa_factors')
    .values(factors.map((factor) => factorRow({ user_id: user.id, created_at: clock.now(), ...factor })))
    .execute()

const factorsOf = ({ user }: SignedIn) =>
  deps.db
    .selectFrom('mfa_factors')
    .select(['factor_type', 'friendly_name', 'phone', 'status'])
    .where('user_id', '=', user.id)
    .orderBy('friendly_name')
    .execute()

const verified = (friendly_name: string, members: object = {}) => ({ friendly_name, status: 'verified', ...members })
const unverified = (friendly_name: string, members: object = {}) => ({ friendly_name, ...members })

describe('enrolFactor', () => {
  it.each([
    [APP, expect.stringMatching(/^[A-Z2-7]{32}$/), { factor_type: 'totp', friendly_name: 'my app', phone: null }],
    [BY_PHONE, undefined, { factor_type: 'phone', friendly_name: 'my phone', phone: PHONE }],
  ])('stores an unverified factor, and shows the secret of an app alone: %o', async (wanted, totpSecret, row) => {
    const signedIn = await createSignedIn(test)
    const { phone } = row
    const enrolled = { id: expect.any(String), account: signedIn.email, phone: phone ?? undefined, totpSecret }
    expect(await enrol(signedIn, wanted)).toEqual(enrolled)
    expect(await factorsOf(signedIn)).toEqual([{ ...row, status: 'unverified' }])
  })

  it.each<[why: string, present: readonly object[], wanted: NewFactor, error: Error]>([
    ['an equal name', [unverified('my app')], APP, factorNameTaken({ name: 'my app' })],
    ['an equal name with spaces around', [unverified(' my app ')], APP, factorNameTaken({ name: 'my app' })],
    ['the most factors', [unverified('a'), unverified('b'), unverified('c')], APP, tooManyFactors()],
    ['the most verified factors', [verified('a'), verified('b')], APP, tooManyFactors()],
    ['a verified factor in a session of aal1', [verified('a')], APP, enrolNeedsSecondFactor()],
    ['the phone verified', [verified('a', { factor_type: 'phone', phone: PHONE })], BY_PHONE, phoneFactorExists()],
  ])('refuses and stores nothing: %s', async (_why, present, wanted, error) => {
    const signedIn = await createSignedIn(test)
    await store(signedIn, ...present)
    const before = await factorsOf(signedIn)
    await expect(enrol(signedIn, wanted)).rejects.toThrow(error)
    expect(await factorsOf(signedIn)).toEqual(before)
  })

  it('replaces an unverified factor with the same phone', async () => {
    const signedIn = await createSignedIn(test)
    await enrol(signedIn, BY_PHONE)
    await enrol(signedIn, { ...BY_PHONE, friendlyName: 'new name' })
    expect(await factorsOf(signedIn)).toEqual([
      { factor_type: 'phone', friendly_name: 'new name', phone: PHONE, status: 'unverified' },
    ])
  })

  it('forgets factors that stayed unverified too long', async () => {
    const signedIn = await createSignedIn(test)
    const created_at = new Date(clock.now().getTime() - DAY_MS)
    await store(signedIn, unverified('my app', { created_at }))
    await enrol(signedIn)
    expect(await factorsOf(signedIn)).toEqual([
      { factor_type: 'totp', friendly_name: 'my app', phone: null, status: 'unverified' },
    ])
  })

  it('lets one of simultaneous requests have the last place', async () => {
    const signedIn = await createSignedIn(test)
    await store(signedIn, unverified('a'), unverified('b'))
    const wanted = ['c', 'd', 'e'].map((friendlyName) => enrol(signedIn, { ...APP, friendlyName }))
    const failures = (await Promise.allSettled(wanted)).flatMap((end) =>
      end.status === 'rejected' ? [end.reason] : [],
    )
    expect(failures).toEqual([tooManyFactors(), tooManyFactors()])
    expect(await factorsOf(signedIn)).toHaveLength(MAX_ENROLLED)
  })

  it('refuses callers whose session or account has ended', async () => {
    const [gone, banned] = [await createSignedIn(test), await createSignedIn(test)]
    await deps.db.deleteFrom('sessions').where('id', '=', gone.sessionId).execute()
    await expect(enrol(gone)).rejects.toThrow(sessionNotFound())
    const banned_until = new Date(clock.now().getTime() + 1)
    await deps.db.updateTable('users').set({ banned_until }).where('id', '=', banned.user.id).execute()
    await expect(enrol(banned)).rejects.toThrow(userBanned())
  })

  it('refuses a type that is switched off before it reads the session', async () => {
    const config = {
      ...deps.config,
      mfa: { ...deps.config.mfa, phone: { ...deps.config.mfa.phone, enrolEnabled: false } },
    }
    const caller = { userId: '', sessionId: '', aal: 'aal1', audiences: [], isAdmin: false } as const
    await expect(enrolFactor({ ...deps, config }, { caller, wanted: BY_PHONE, ip: '' })).rejects.toThrow(
      phoneEnrolDisabled(),
    )
  })
})
