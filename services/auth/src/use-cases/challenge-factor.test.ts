import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { anyId } from '../../test/bodies.ts'
import { factorRow } from '../../test/factor-row.ts'
import { openMailApp } from '../../test/mail-app.ts'
import { createSignedIn } from '../../test/signed-in.ts'
import { smsTooSoon } from '../errors.ts'
import { challengeFactor } from './challenge-factor.ts'

const main = await openMailApp({
  AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
})
const { deps, clock } = main
afterAll(() => main.close())

/** Creates a factor of a new user. Also returns a function that challenges it. */
async function createFactor(
  factor: { readonly factor_type: 'totp' } | { readonly factor_type: 'phone'; phone: string; status?: 'verified' },
) {
  const { user, sessionId } = await createSignedIn(main)
  const id = randomUUID()
  await deps.db
    .insertInto('mfa_factors')
    .values(factorRow({ id, user_id: user.id, ...factor }))
    .execute()
  const caller = { userId: user.id, sessionId, aal: 'aal1', audiences: ['authenticated'], isAdmin: false } as const
  const input = { caller, factorId: id, channel: 'sms', ip: '192.0.2.1', limitKey: undefined } as const
  return { id, challenge: (on = deps) => challengeFactor(on, input) }
}

describe('challengeFactor', () => {
  it('sends one code for many parallel challenges of a phone, and gives back every other SMS', async () => {
    const phone = '14155550100'
    const { challenge } = await createFactor({ factor_type: 'phone', phone })
    let taken = 0
    const take = async () => {
      taken += 1
      return {
        giveBackUnsent: async () => {},
        giveBack: async () => {
          taken -= 1
        },
      }
    }
    const counted = { ...deps, rateLimits: { ...deps.rateLimits, sms: { ...deps.rateLimits.sms, take } } }
    const outcomes = await Promise.allSettled(Array.from({ length: 4 }, () => challenge(counted)))
    const refused = { status: 'rejected', reason: smsTooSoon({ seconds: 60 }, { headers: { 'retry-after': '60' } }) }
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([refused, refused, refused])
    await main.idle()
    expect(main.sms.messages.filter(({ to }) => to === phone)).toHaveLength(1)
    expect(taken).toBe(1)
  })

  it('429: sends a phone that nobody has verified one code in an interval, whoever asks', async () => {
    const phone = '14155550101'
    const factors = [1, 2, 3].map(() => createFactor({ factor_type: 'phone', phone }))
    const outcomes = await Promise.allSettled((await Promise.all(factors)).map(({ challenge }) => challenge()))
    const refused = { status: 'rejected', reason: smsTooSoon({ seconds: 60 }, { headers: { 'retry-after': '60' } }) }
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([refused, refused])
    await main.idle()
    expect(main.sms.messages.filter(({ to }) => to === phone)).toHaveLength(1)
  })

  it('sends each of several users who have verified one phone a code', async () => {
    const phone = '14155550102'
    const factors = [1, 2].map(() => createFactor({ factor_type: 'phone', phone, status: 'verified' }))
    for (const { challenge } of await Promise.all(factors)) await challenge()
    await main.idle()
    expect(main.sms.messages.filter(({ to }) => to === phone)).toHaveLength(2)
  })

  // A unique index of supabase/auth contains the times of all factors.
  it('stores challenges of two factors at the same moment', async () => {
    const factors = [await createFactor({ factor_type: 'totp' }), await createFactor({ factor_type: 'totp' })]
    const expiresAt = new Date(clock.now().getTime() + 300_000)
    for (const { challenge } of factors) {
      expect(await challenge()).toEqual({ id: anyId, type: 'totp', expiresAt, webauthn: undefined })
    }
    const ids = factors.map(({ id }) => id)
    const rows = await deps.db.selectFrom('mfa_factors').select('last_challenged_at').where('id', 'in', ids).execute()
    expect(new Set(rows.map(({ last_challenged_at: at }) => at)).size).toBe(2)
  })
})
