import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyTime, errorBody, factorBody, signedUpBody, statusAndBody } from '../../../../test/bodies.ts'
import { expectSession } from '../../../../test/expect-user.ts'
import {
  failures,
  openRecoveryCodesApp,
  RECOVERY_CODES,
  type RecoveryCodesApp,
} from '../../../../test/recovery-codes-app.ts'

let test: RecoveryCodesApp
beforeAll(async () => {
  test = await openRecoveryCodesApp()
})
afterAll(() => test.close())

const PATH = `${RECOVERY_CODES}/regenerate`

describe('POST /factors/recovery-codes/regenerate', () => {
  it('200: replaces the codes, keeps id and name, and lifts the limit of attempts', async () => {
    const { headers, later, id, codes } = await test.createWithCodes()
    for (let attempt = 0; attempt < 6; attempt += 1) await test.verify(later.headers, 'wrong')
    await test.fail('POST', PATH, later.headers, failures.needsAal2)
    const answer = await test.regenerate(headers)
    const body = {
      id,
      type: 'recovery_code',
      friendly_name: 'Recovery codes',
      total: 10,
      codes: Array(10).fill(expect.stringMatching(/^[a-z2-9]{16}$/)),
    }
    expect([answer.statusCode, answer.json()]).toEqual([200, body])
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(statusAndBody(await test.verify(later.headers, codes[0]))).toEqual([422, errorBody(...failures.wrong)])
    expectSession(
      await test.verify(later.headers, answer.json().codes[0]),
      signedUpBody(later, {
        factors: [
          factorBody({ friendly_name: 'app', last_challenged_at: anyTime }),
          factorBody({ id, factor_type: 'recovery_code', friendly_name: 'Recovery codes' }),
        ],
      }),
    )
    expect(await test.readStatus(headers)).toEqual({ id, type: 'recovery_code', total: 10, remaining: 9 })
  })

  it('404: refuses a user without recovery codes', async () => {
    const { headers } = await test.createWithApp()
    await test.fail('POST', PATH, headers, failures.notFound)
  })
})
