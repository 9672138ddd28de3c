import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf } from '../../../../test/authenticator-app.ts'
import {
  amrEntry,
  answersByStatus,
  anyTime,
  claimsBody,
  errorBody,
  factorBody,
  sessionBody,
  signedUpBody,
  statusAndBody,
} from '../../../../test/bodies.ts'
import {
  type CodeOwner,
  failures,
  openRecoveryCodesApp,
  RECOVERY_CODES,
  type RecoveryCodesApp,
} from '../../../../test/recovery-codes-app.ts'
import { createSignedIn } from '../../../../test/signed-in.ts'

let test: RecoveryCodesApp
beforeAll(async () => {
  test = await openRecoveryCodesApp()
})
afterAll(() => test.close())

const PATH = `${RECOVERY_CODES}/verify`
const wrong = errorBody(...failures.wrong)
const locked = errorBody(429, 'mfa_recovery_codes_locked', 'Too many wrong recovery codes, please retry later')

/** The response with a session that a code has stepped up. */
const steppedUpBody = ({ id, app, ...owner }: CodeOwner) =>
  sessionBody(
    signedUpBody(owner, {
      factors: [
        factorBody({ id: app.factorId, friendly_name: 'app', last_challenged_at: anyTime }),
        factorBody({ id, factor_type: 'recovery_code', friendly_name: 'Recovery codes' }),
      ],
    }),
  )

describe('POST /factors/recovery-codes/verify', () => {
  // ASVS 6.4.4, 6.5.1
  it('200: steps the session up to aal2 once per code, in any case and spacing', async () => {
    const owner = await test.createWithCodes()
    const { later, codes } = owner
    const [first = '', second = ''] = codes
    const typed = ` ${first.toUpperCase().replaceAll(/(.{4})(?=.)/g, '$1-')}\n`
    const answer = await test.verify(later.headers, typed)
    expect([answer.statusCode, answer.json()]).toEqual([200, steppedUpBody(owner)])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(claimsOf(answer.json().access_token)).toEqual(
      claimsBody({
        sub: owner.user.id,
        email: owner.email,
        user_metadata: { name: 'Ann' },
        aal: 'aal2',
        amr: [amrEntry('mfa/recovery_code'), amrEntry('password')],
        session_id: later.sessionId,
      }),
    )
    const left = { id: owner.id, type: 'recovery_code', total: 10, remaining: 9 }
    expect(await test.readStatus(owner.headers)).toEqual(left)
    expect(statusAndBody(await test.verify(later.headers, first))).toEqual([422, wrong])
    expect(statusAndBody(await test.verify(later.headers, second))).toEqual([200, steppedUpBody(owner)])
  })

  it('200 and 422: accepts one of many parallel uses of a code', async () => {
    const owner = await test.createWithCodes()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => test.verify(owner.later.headers, owner.codes[0])),
    )
    expect(answers.filter(({ statusCode }) => statusCode === 200).map((answer) => answer.json())).toEqual([
      steppedUpBody(owner),
    ])
    expect(answers.filter(({ statusCode }) => statusCode >= 500)).toEqual([])
  })

  // ASVS 6.6.3
  it('429: refuses every code after five attempts in 15 minutes, also parallel attempts and the right code', async () => {
    const owner = await test.createWithCodes()
    const { later, codes, headers } = owner
    const guesses = await Promise.all(Array.from({ length: 12 }, () => test.verify(later.headers, 'a'.repeat(16))))
    expect(answersByStatus(guesses)).toEqual([...Array(5).fill([422, wrong]), ...Array(7).fill([429, locked])])
    const refused = await test.verify(later.headers, codes[0])
    expect([refused.statusCode, refused.json(), refused.headers['retry-after']]).toEqual([429, locked, '900'])
    test.clock.advance(899_999)
    expect((await test.verify(later.headers, codes[0])).headers['retry-after']).toBe('1')
    test.clock.advance(1)
    expect((await test.verify(later.headers, codes[0])).json()).toEqual(steppedUpBody(owner))
    // The correct code has reset the limit, so five attempts are left again.
    for (let attempt = 0; attempt < 4; attempt += 1) expect((await test.verify(headers, 'x')).json()).toEqual(wrong)
    expect((await test.verify(headers, codes[1])).json()).toEqual(steppedUpBody(owner))
  })

  it('404: refuses a user without codes', async () => {
    const { headers } = await createSignedIn(test)
    await test.fail('POST', PATH, headers, failures.notFound)
  })

  it('422: refuses a malformed code', async () => {
    const { later } = await test.createWithCodes()
    await test.fail('POST', PATH, later.headers, failures.wrong)
  })
})
