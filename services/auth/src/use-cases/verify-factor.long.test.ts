import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { challenge, claimsOf, enrolApp } from '../../test/authenticator-app.ts'
import { createSignedIn } from '../../test/signed-in.ts'
import { sessionNotFound } from '../errors.ts'
import {
  challengeExpired,
  challengeMismatch,
  challengeNotFound,
  factorNotFound,
  totpCodeWrong,
} from '../factor-errors.ts'
import { type VerifyFactorInput, verifyFactor } from './verify-factor.ts'

const test = await openTestApp()
const { deps, clock, close } = test
afterAll(close)

/** Creates a user with a factor. Also returns a function that answers a challenge of it. */
async function enrolled() {
  const signedIn = await createSignedIn(test)
  const app = await enrolApp(test, signedIn.headers)
  const caller = {
    userId: signedIn.user.id,
    sessionId: signedIn.sessionId,
    aal: 'aal1',
    audiences: ['authenticated'],
    isAdmin: false,
  } as const
  const ask = () => challenge(test, signedIn.headers, app.factorId)
  const answer = (challengeId: string, code: string, changes: Partial<VerifyFactorInput> = {}) =>
    verifyFactor(deps, {
      caller,
      factorId: app.factorId,
      challengeId,
      answer: { kind: 'code', code },
      network: undefined,
      ip: '127.0.0.1',
      userAgent: 'test',
      ...changes,
    })
  const wrong = () => (app.code() === '000000' ? '000001' : '000000')
  return { signedIn, app, ask, answer, wrong }
}

describe('verifyFactor', () => {
  it('steps the session up to aal2', async () => {
    const { signedIn, app, ask, answer } = await enrolled()
    const view = await answer(await ask(), app.code())
    const { aal, session_id, sub } = claimsOf(view.access_token)
    expect({ aal, session_id, sub }).toEqual({ aal: 'aal2', session_id: signedIn.sessionId, sub: signedIn.user.id })
  })

  it('leaves a challenge open after a wrong code', async () => {
    const { app, ask, answer, wrong } = await enrolled()
    const id = await ask()
    await expect(answer(id, wrong())).rejects.toThrow(totpCodeWrong())
    expect(claimsOf((await answer(id, app.code())).access_token).aal).toBe('aal2')
  })

  it('deletes a challenge after the last wrong code', async () => {
    const { app, ask, answer, wrong } = await enrolled()
    const id = await ask()
    for (let guess = 0; guess < deps.config.security.codeAttemptsMax; guess += 1) {
      await expect(answer(id, wrong())).rejects.toThrow(totpCodeWrong())
    }
    const kept = deps.db.selectFrom('mfa_challenges').select('id').where('id', '=', id)
    expect(await kept.execute()).toEqual([])
    await expect(answer(id, app.code())).rejects.toThrow(challengeNotFound())
  })

  it('accepts a code once, also for another challenge', async () => {
    const { app, ask, answer } = await enrolled()
    await answer(await ask(), app.code())
    const second = await ask()
    await expect(answer(second, app.code())).rejects.toThrow(totpCodeWrong())
    expect(claimsOf((await answer(second, app.code(1))).access_token).aal).toBe('aal2')
  })

  it('refuses a challenge that was answered, and one that another address asked for', async () => {
    const { app, ask, answer } = await enrolled()
    const id = await ask()
    await expect(answer(id, app.code(), { ip: '192.0.2.9' })).rejects.toThrow(challengeMismatch())
    await answer(id, app.code())
    await expect(answer(id, app.code(1))).rejects.toThrow(challengeMismatch())
  })

  it('deletes a challenge that has expired', async () => {
    const { app, ask, answer } = await enrolled()
    const id = await ask()
    clock.advance(deps.config.mfa.challengeLifetimeSeconds * 1_000)
    await expect(answer(id, app.code())).rejects.toThrow(challengeExpired({ id }))
    await expect(answer(id, app.code())).rejects.toThrow(challengeNotFound())
  })

  it("refuses another user's factor, and a challenge of another factor", async () => {
    const [one, other] = [await enrolled(), await enrolled()]
    const id = await one.ask()
    await expect(other.answer(id, one.app.code(), { factorId: one.app.factorId })).rejects.toThrow(factorNotFound())
    await expect(other.answer(id, one.app.code())).rejects.toThrow(challengeNotFound())
  })

  it('refuses a session that has ended', async () => {
    const { signedIn, app, ask, answer } = await enrolled()
    const id = await ask()
    await deps.db.deleteFrom('sessions').where('id', '=', signedIn.sessionId).execute()
    await expect(answer(id, app.code())).rejects.toThrow(sessionNotFound())
  })
})
