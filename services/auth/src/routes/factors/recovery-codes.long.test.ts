import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../../../test/authenticator-app.ts'
import {
  amrEntry,
  answersByStatus,
  anyId,
  anyTime,
  claimsBody,
  errorBody,
  factorBody,
  signedUpBody,
  statusAndBody,
} from '../../../test/bodies.ts'
import { expectFailure } from '../../../test/expect-failure.ts'
import { OPERATOR } from '../../../test/forged-token.ts'
import {
  failures,
  openRecoveryCodesApp,
  RECOVERY_CODES as PATH,
  type RecoveryCodesApp,
} from '../../../test/recovery-codes-app.ts'
import { createSignedIn } from '../../../test/signed-in.ts'

let test: RecoveryCodesApp
beforeAll(async () => {
  test = await openRecoveryCodesApp()
})
afterAll(() => test.close())

/** The response with new codes, which are shown only once. */
const codesBody = (friendly_name: string) => ({
  id: anyId,
  type: 'recovery_code',
  friendly_name,
  total: 10,
  codes: Array(10).fill(expect.stringMatching(/^[a-z2-9]{16}$/)),
})

describe('POST /factors/recovery-codes', () => {
  it('200: shows ten codes only once and sends a mail', async () => {
    const { headers, email, app } = await test.createWithApp()
    const answer = await test.generate(headers)
    expect([answer.statusCode, answer.json()]).toEqual([200, codesBody('Recovery codes')])
    const { id } = answer.json()
    expect(await test.readStatus(headers)).toEqual({ id, type: 'recovery_code', total: 10, remaining: 10 })
    const { factors } = (await test.app.inject({ url: '/user', headers })).json()
    expect(factors).toEqual([
      factorBody({ id: app.factorId, friendly_name: 'app', last_challenged_at: anyTime }),
      factorBody({ id, factor_type: 'recovery_code', friendly_name: 'Recovery codes' }),
    ])
    // The mail about the authenticator app may arrive before or after.
    const texts = [await test.readMail(email), await test.readMail(email)].map(({ mail }) => mail.text)
    expect(texts).toContainEqual(expect.stringContaining('(recovery_code)'))
  })

  it('200: stores the given name, and a default name when there is no body', async () => {
    const { headers } = await test.createWithApp()
    expect(statusAndBody(await test.generate(headers, { friendly_name: 'Safe' }))).toEqual([200, codesBody('Safe')])
    const { headers: other } = await test.createWithApp()
    const answer = await test.app.inject({ method: 'POST', url: PATH, headers: other })
    expect(statusAndBody(answer)).toEqual([200, codesBody('Recovery codes')])
  })

  it('422: refuses codes to a user without another factor', async () => {
    const { headers } = await createSignedIn(test)
    const alone = 'Recovery codes need another verified factor beside them'
    await test.fail('POST', PATH, headers, [422, 'mfa_recovery_codes_sole_factor', alone])
  })

  it('403: refuses codes in a session of aal1', async () => {
    const { later } = await test.createWithApp()
    await test.fail('POST', PATH, later.headers, failures.needsAal2)
  })

  it('422: refuses codes under the name of another factor', async () => {
    const { headers } = await test.createWithApp()
    const payload = { friendly_name: 'app' }
    const taken = 'A factor with the friendly name "app" for this user already exists'
    await expectFailure(test, { method: 'POST', url: PATH, headers, payload }, [422, 'mfa_factor_name_conflict', taken])
  })

  it('422: makes one set of codes in parallel requests, and no second set afterwards', async () => {
    const { headers } = await test.createWithApp()
    const answers = await Promise.all(Array.from({ length: 5 }, () => test.generate(headers)))
    const exists = [422, 'mfa_verified_factor_exists', 'Recovery codes already exist, regenerate them instead'] as const
    expect(answersByStatus(answers)).toEqual([
      [200, codesBody('Recovery codes')],
      ...Array(4).fill([422, errorBody(...exists)]),
    ])
    await test.fail('POST', PATH, headers, exists)
  })
})

describe('DELETE /factors/recovery-codes', () => {
  it('200: deletes the codes in a session of aal2 and lowers the sessions that they stepped up to aal1', async () => {
    const { headers, later, id, codes } = await test.createWithCodes()
    const needed = [422, 'insufficient_aal', 'AAL2 required to unenroll verified factor'] as const
    await test.fail('DELETE', PATH, later.headers, needed)
    const { refresh_token } = (await test.verify(later.headers, codes[0])).json()
    const removed = await test.remove(headers)
    expect([removed.statusCode, removed.json()]).toEqual([200, { id }])
    const refreshed = await test.post('/token?grant_type=refresh_token', { refresh_token })
    expect(claimsOf(refreshed.json().access_token)).toEqual(
      claimsBody({
        sub: later.user.id,
        email: later.email,
        user_metadata: { name: 'Ann' },
        amr: [amrEntry('password')],
        session_id: later.sessionId,
      }),
    )
    await test.fail('DELETE', PATH, headers, failures.notFound)
    await test.fail('GET', PATH, headers, failures.notFound)
  })

  it('404: refuses recovery codes at the paths of other factors', async () => {
    const { headers, id } = await test.createWithCodes()
    await test.fail('DELETE', `/factors/${id}`, headers, failures.notFound)
    await test.fail('POST', `/factors/${id}/challenge`, headers, failures.notFound)
  })
})

describe('the last other factor', () => {
  it.each(['its owner', 'an admin'] as const)('200: deletes the recovery codes too when %s deletes it', async (who) => {
    const owner = await test.createWithCodes()
    const { user, headers, app } = owner
    const path = who === 'an admin' ? `/admin/users/${user.id}/factors` : '/factors'
    const request = { url: `${path}/${app.factorId}`, headers: who === 'an admin' ? OPERATOR : headers }
    expect(statusAndBody(await test.app.inject({ method: 'DELETE', ...request }))).toEqual([
      200,
      who === 'an admin'
        ? factorBody({ id: app.factorId, friendly_name: 'app', last_challenged_at: anyTime })
        : { id: app.factorId },
    ])
    expect(statusAndBody(await test.app.inject({ url: '/user', headers }))).toEqual([
      200,
      signedUpBody(owner, { last_sign_in_at: anyTime }),
    ])
  })
})
