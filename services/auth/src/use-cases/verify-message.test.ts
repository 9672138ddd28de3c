import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { amrEntry, anyId, anyRefreshToken, anyTime } from '../../test/bodies.ts'
import { CONTEXT, SERVICE } from '../../test/sample-context.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { linkExpired, otpExpired, userBanned } from '../errors.ts'
import type { LinkType, VerifyType } from '../one-time-tokens/verify-request.ts'
import { redeemLink } from '../sign-ups/redeem-message.ts'
import { getProfile } from '../users/profile-repository.ts'
import { generateLink } from './generate-link.ts'
import { verifyMessage } from './verify-message.ts'

const { deps, clock, close } = await openTestApp()
afterAll(close)

/** Generates the code and the link of a mail of this type. */
const send = (type: LinkType, email: string, newEmail = '') =>
  generateLink(deps, { type, email, newEmail, password: undefined, data: {}, admin: SERVICE, context: CONTEXT })
const type = (email: string, code: string) =>
  verifyMessage(deps, { fields: { type: 'recovery', email, token: code }, context: CONTEXT })
const follow = (token: string, as: VerifyType = 'recovery', audience = CONTEXT.audience) =>
  redeemLink(deps, {
    type: as,
    token,
    via: { kind: 'body', password: undefined },
    context: { ...CONTEXT, audience },
  })
const wrongCode = (code: string) => (code === '000000' ? '000001' : '000000')
const ban = (id: string, until: Date | null) =>
  deps.db.updateTable('users').set({ banned_until: until }).where('id', '=', id).execute()

describe('verifyMessage', () => {
  it('signs in once, by the code or by its link', async () => {
    const { email } = await createSignedUp(deps)
    const { code, token } = await send('recovery', email)
    expect((await type(email, code)).verdict).toBe('session')
    await expect(type(email, code)).rejects.toThrow(otpExpired())
    await expect(follow(token)).rejects.toThrow(linkExpired())
  })

  it('refuses an unknown address, a wrong code and an expired code alike', async () => {
    const { email } = await createSignedUp(deps)
    const { code } = await send('recovery', email)
    await expect(type('nobody@example.com', code)).rejects.toThrow(otpExpired())
    await expect(type(email, wrongCode(code))).rejects.toThrow(otpExpired())
    clock.advance(86_400_000)
    await expect(type(email, code)).rejects.toThrow(otpExpired())
  })

  it('reports a ban only after the right code, and does not use the code up', async () => {
    const { email, user } = await createSignedUp(deps)
    const { code } = await send('recovery', email)
    await ban(user.id, new Date(clock.now().getTime() + 60_000))
    await expect(type(email, wrongCode(code))).rejects.toThrow(otpExpired())
    // One attempt more than the limit.
    for (let time = 0; time <= deps.config.security.codeAttemptsMax; time += 1) {
      await expect(type(email, code)).rejects.toThrow(userBanned())
    }
    await ban(user.id, null)
    expect((await type(email, code)).verdict).toBe('session')
  })
})

describe('redeemLink', () => {
  it('finds its user in any audience', async () => {
    const { email, user } = await createSignedUp(deps)
    const { token } = await send('recovery', email)
    expect(await follow(token, 'recovery', 'mobile')).toEqual({
      verdict: 'session',
      session: {
        ...(await getProfile(deps.db, user.id)),
        sessionId: anyId,
        aal: 'aal1',
        startedAt: anyTime,
        amr: [amrEntry('otp')],
        refreshToken: anyRefreshToken,
      },
      type: 'recovery',
    })
  })

  it('refuses a link of another type, and leaves it good', async () => {
    const { email } = await createSignedUp(deps)
    const { token } = await send('recovery', email)
    await expect(follow(token, 'invite')).rejects.toThrow(linkExpired())
    expect((await follow(token)).verdict).toBe('session')
  })

  it('reports a ban rather than the expiry of the link', async () => {
    const { email, user } = await createSignedUp(deps)
    const { token } = await send('recovery', email)
    clock.advance(86_400_000)
    await ban(user.id, new Date(clock.now().getTime() + 60_000))
    await expect(follow(token)).rejects.toThrow(userBanned())
    await ban(user.id, null)
    await expect(follow(token)).rejects.toThrow(linkExpired())
  })

  it('signs in by one of two concurrent uses', async () => {
    const { email } = await createSignedUp(deps)
    const { token } = await send('recovery', email)
    const outcomes = await Promise.allSettled([follow(token), follow(token)])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(outcomes.find(({ status }) => status === 'rejected')).toEqual({ status: 'rejected', reason: linkExpired() })
  })

  it('signs nobody in until both addresses of a change of email agree', async () => {
    const { email } = await createSignedUp(deps)
    const newEmail = `next.${email}`
    const toNew = await send('email_change_new', email, newEmail)
    const toCurrent = await send('email_change_current', email, newEmail)
    expect(await follow(toNew.token, 'email_change')).toEqual({ verdict: 'other-address-left' })
    expect((await follow(toCurrent.token, 'email_change')).verdict).toBe('session')
  })
})
