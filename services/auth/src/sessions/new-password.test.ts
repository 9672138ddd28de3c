import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import {
  currentPasswordInvalid,
  currentPasswordRequired,
  reauthenticationNeeded,
  samePassword,
  WEAKNESS_SENTENCES,
} from '../errors.ts'
import type { ActiveCaller } from './active-caller.ts'
import { createSession, type SignIn } from './create-session.ts'
import { type GuardedChange, type GuardedChangeVerdict, judgeGuardedChange, preparePassword } from './new-password.ts'
import { findSession } from './session-repository.ts'

// The database dates authentication methods by its own clock.
const test = await openTestApp({
  replace: () => ({ now: () => new Date() }),
  settings: { AUTH_SECURITY_FAILED_ATTEMPTS: '3' },
})
afterAll(() => test.close())
const { deps } = test

const DAY_MS = 86_400_000
const IP = '192.0.2.1'
const NEW = 'another horse'
const ago = (ms: number) => new Date(Date.now() - ms)

/** Creates a user who has signed in by this method. */
async function signedIn({ method, credentialSince }: Pick<SignIn, 'method' | 'credentialSince'>) {
  const { user, password } = await createSignedUp(deps)
  const { sessionId } = await createSession(deps.db, deps, user, { userAgent: null, ip: IP, method, credentialSince })
  return { caller: { user, session: await findSession(deps.db, user.id, sessionId) }, password }
}
const depsThat = (security: object) => ({
  ...deps,
  config: { ...deps.config, security: { ...deps.config.security, ...security } },
})
const asksForCurrent = depsThat({ currentPasswordForPassword: true })
const prepare = (own: typeof deps, caller: ActiveCaller, password: string, currentPassword?: string) =>
  preparePassword(own, caller, { password, nonce: undefined, currentPassword, ip: IP })

describe('preparePassword', () => {
  it('hashes a new password, and refuses a weak one and the same one', async () => {
    const { caller, password } = await signedIn({ method: 'password', credentialSince: null })
    const { hash, ...rest } = await prepare(deps, caller, NEW)
    expect((await deps.passwords.verify(hash, NEW)).matches).toBe(true)
    expect(rest).toEqual({ nonce: undefined, shownHash: undefined })
    await expect(prepare(deps, caller, 'short')).rejects.toThrow(WEAKNESS_SENTENCES.length(6))
    await expect(prepare(deps, caller, password)).rejects.toThrow(samePassword())
  })

  it('counts each comparison with the current password as a failed check', async () => {
    const { caller, password } = await signedIn({ method: 'password', credentialSince: null })
    for (const guess of ['first wrong guess', 'second wrong guess', 'third wrong guess'])
      await prepare(deps, caller, guess)
    const { hash } = await prepare(deps, caller, password)
    expect((await deps.passwords.verify(hash, password)).matches).toBe(true)
    const elsewhere = preparePassword(deps, caller, {
      password,
      nonce: undefined,
      currentPassword: undefined,
      ip: '192.0.2.2',
    })
    await expect(elsewhere).rejects.toThrow(samePassword())
  })

  it('records that a new password was the current one', async () => {
    const { caller, password } = await signedIn({ method: 'password', credentialSince: null })
    await expect(prepare(deps, caller, password)).rejects.toThrow(samePassword())
    const entries = await deps.db
      .selectFrom('audit_log_entries')
      .select(['action', sql<unknown>`payload -> 'traits'`.as('traits')])
      .where('target_user_id', '=', caller.user.id)
      .execute()
    expect(entries).toEqual([{ action: 'reauthentication_failed', traits: { proof: 'new_password' } }])
  })

  it.each<[string, SignIn['method'], Date | null]>([
    ['a password', 'password', null],
    ['a code to an address that is an hour old', 'otp', ago(3_600_000)],
  ])('asks for the current password after a sign-in by %s', async (_shown, method, credentialSince) => {
    const { caller, password } = await signedIn({ method, credentialSince })
    await expect(prepare(asksForCurrent, caller, NEW)).rejects.toThrow(currentPasswordRequired())
    await expect(prepare(asksForCurrent, caller, NEW, 'a wrong one')).rejects.toThrow(currentPasswordInvalid())
    const { shownHash } = await prepare(asksForCurrent, caller, NEW, password)
    expect(shownHash).toBe(caller.user.passwordHash)
  })

  it.each<[string, SignIn['method'], Date | null]>([
    ['a code to an address that is a day old', 'otp', ago(DAY_MS)],
    ['a code to the first address', 'otp', null],
  ])('asks for no current password after a sign-in by %s', async (_shown, method, credentialSince) => {
    const { caller } = await signedIn({ method, credentialSince })
    expect((await prepare(asksForCurrent, caller, NEW)).shownHash).toBeUndefined()
  })

  it('asks for a nonce without a session, or a day after the sign-in', async () => {
    const asksForNonce = depsThat({ reauthenticateForPassword: true })
    const { caller } = await signedIn({ method: 'password', credentialSince: null })
    expect((await prepare(asksForNonce, caller, NEW)).nonce).toBeUndefined()
    const anonymous = { ...caller, session: undefined }
    await expect(prepare(asksForNonce, anonymous, NEW)).rejects.toThrow(reauthenticationNeeded())
    const tomorrow = { ...asksForNonce, now: () => new Date(Date.now() + DAY_MS) }
    await expect(prepare(tomorrow, caller, NEW)).rejects.toThrow(reauthenticationNeeded())
  })
})

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
