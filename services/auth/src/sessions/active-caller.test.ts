import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { signInTooOld } from '../errors.ts'
import { requireFreshSession } from './active-caller.ts'
import { createSession } from './create-session.ts'
import { listSessionMethods, updateCredentialSince } from './session-repository.ts'

const test = await openTestApp()
afterAll(() => test.close())
const { deps } = test
const { db } = deps

const FRESH_FOR_MS = 3_600_000
const config = { sessions: { freshForMs: FRESH_FOR_MS } }

/** Creates a user with a session. Also returns when the session was authenticated. */
async function signedIn() {
  const { user } = await createSignedUp(deps)
  const origin = { userAgent: null, ip: '192.0.2.1', method: 'password', credentialSince: null } as const
  const { sessionId } = await createSession(db, deps, user, origin)
  const [used] = await listSessionMethods(db, sessionId)
  return { caller: { user, session: { id: sessionId } }, provenAt: Date.parse(used?.at ?? '') }
}

describe('requireFreshSession', () => {
  it('takes a sign-in up to the last moment of its time', async () => {
    const { caller, provenAt } = await signedIn()
    const after = (ms: number) => requireFreshSession(db, { config, now: () => new Date(provenAt + ms) }, caller)
    await expect(after(FRESH_FOR_MS)).resolves.toBeUndefined()
    await expect(after(FRESH_FOR_MS + 1)).rejects.toThrow(signInTooOld())
  })

  it('takes a credential from the moment on at which it was old enough', async () => {
    const { caller, provenAt } = await signedIn()
    const withCredential = async (ageMs: number) => {
      const since = new Date(provenAt - ageMs)
      await updateCredentialSince(db, { sessionId: caller.session.id, method: 'password' }, since)
      return requireFreshSession(db, { config, now: () => new Date(provenAt) }, caller)
    }
    await expect(withCredential(FRESH_FOR_MS)).resolves.toBeUndefined()
    await expect(withCredential(FRESH_FOR_MS - 1)).rejects.toThrow(signInTooOld())
  })
})
