import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openTestApp } from '../../test/auth-app.ts'
import { anyId, anyTime } from '../../test/bodies.ts'
import { factorRow } from '../../test/factor-row.ts'
import { createSignedIn, type SignedIn } from '../../test/signed-in.ts'
import { sessionNotFound } from '../errors.ts'
import {
  enrolNeedsSecondFactor,
  factorNameTaken,
  factorNotFound,
  recoveryCodesAlone,
  recoveryCodesExist,
  recoveryEnrolDisabled,
} from '../factor-errors.ts'
import type { TokenUser } from '../sessions/token-user.ts'
import { generateRecoveryCodes } from './generate-recovery-codes.ts'
import { regenerateRecoveryCodes } from './regenerate-recovery-codes.ts'

const test = await openTestApp({
  settings: {
    AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
    AUTH_MAILER_NOTIFICATIONS_RECOVERY_CODES_CREATED_ENABLED: 'false',
  },
})
const { deps, close } = test
afterAll(close)

const ip = '192.0.2.1'
const Codes = z.object({ codes: z.array(z.string()) })

/** Creates a user with a verified authenticator app and an aal2 session. */
async function createAppOwner(): Promise<SignedIn> {
  const signedIn = await createSignedIn(test)
  const app = factorRow({ user_id: signedIn.user.id, friendly_name: 'app', status: 'verified' })
  await deps.db.insertInto('mfa_factors').values(app).execute()
  await deps.db.updateTable('sessions').set({ aal: 'aal2' }).where('id', '=', signedIn.sessionId).execute()
  return signedIn
}

const callerOf = ({ user, sessionId }: SignedIn, aal: TokenUser['aal'] = 'aal2'): TokenUser => ({
  userId: user.id,
  sessionId,
  aal,
  audiences: ['authenticated'],
  isAdmin: false,
})
/** @returns the codes, or the thrown error */
const generate = (caller: TokenUser, friendlyName = 'Safe', on = deps) =>
  generateRecoveryCodes(on, { caller, friendlyName, ip }).catch((error: unknown) => error)
const regenerate = (caller: TokenUser, on = deps) =>
  regenerateRecoveryCodes(on, { caller, ip }).catch((error: unknown) => error)

const factor = {
  ...{ id: anyId, friendlyName: 'Safe', factorType: 'recovery_code', status: 'verified', phone: null },
  ...{ lastChallengedAt: null, createdAt: anyTime, updatedAt: anyTime },
}
const newCodes = { factor, codes: Array(10).fill(expect.stringMatching(/^[a-z2-9]{16}$/)) }

const countStored = async ({ user }: SignedIn) => {
  const query = deps.db
    .selectFrom('mfa_recovery_codes')
    .innerJoin('mfa_recovery_sets', 'mfa_recovery_sets.id', 'mfa_recovery_codes.set_id')
  return (await query.select('mfa_recovery_codes.id').where('user_id', '=', user.id).execute()).length
}

describe('generateRecoveryCodes', () => {
  it('makes the first set of ten codes, and no second one', async () => {
    const owner = await createAppOwner()
    expect(await generate(callerOf(owner))).toEqual(newCodes)
    expect(await generate(callerOf(owner), 'Another')).toEqual(recoveryCodesExist())
    expect(await countStored(owner)).toBe(10)
  })

  it.each<[why: string, generated: (owner: SignedIn) => Promise<unknown>, error: Error]>([
    ['a session of aal1', (owner) => generate(callerOf(owner, 'aal1')), enrolNeedsSecondFactor()],
    ['a token without session', (owner) => generate({ ...callerOf(owner), sessionId: null }), sessionNotFound()],
    ['the name of another factor', (owner) => generate(callerOf(owner), 'app'), factorNameTaken({ name: 'app' })],
  ])('refuses %s and stores nothing', async (_why, generated, error) => {
    const owner = await createAppOwner()
    expect(await generated(owner)).toEqual(error)
    expect(await countStored(owner)).toBe(0)
  })

  it('refuses a user without another verified factor', async () => {
    expect(await generate(callerOf(await createSignedIn(test)))).toEqual(recoveryCodesAlone())
  })
})

describe('regenerateRecoveryCodes', () => {
  it('replaces the codes by others', async () => {
    const owner = await createAppOwner()
    expect(await regenerate(callerOf(owner))).toEqual(factorNotFound())
    const first = await generate(callerOf(owner))
    const second = await regenerate(callerOf(owner))
    expect(second).toEqual(newCodes)
    expect(Codes.parse(second).codes).not.toEqual(Codes.parse(first).codes)
    expect(await regenerate(callerOf(owner, 'aal1'))).toEqual(enrolNeedsSecondFactor())
    expect(await countStored(owner)).toBe(10)
  })
})

it('refuses both while recovery codes are switched off, before it reads the session', async () => {
  const { mfa } = deps.config
  const recoveryCodes = { ...mfa.recoveryCodes, enrolEnabled: false }
  const off = { ...deps, config: { ...deps.config, mfa: { ...mfa, recoveryCodes } } }
  const caller = { userId: '', sessionId: '', aal: 'aal2', audiences: [], isAdmin: false } as const
  expect([await generate(caller, 'Safe', off), await regenerate(caller, off)]).toEqual([
    recoveryEnrolDisabled(),
    recoveryEnrolDisabled(),
  ])
})
