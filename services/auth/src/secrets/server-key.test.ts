import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApp, answerChallenge } from '../../test/authenticator-app.ts'
import { anyId, anyTime, confirmedBody, errorBody, factorBody, signedUpBody, statusAndBody } from '../../test/bodies.ts'
import { expectSession } from '../../test/expect-user.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, signIn } from '../../test/signed-in.ts'
import { buildApp } from '../app.ts'
import { createEncryptionKeys, deriveServerKeys } from './encrypted-secret.ts'

const oldKey = randomBytes(32)
const keys = createEncryptionKeys(randomBytes(32), [oldKey])

let before: MailApp
/** A process with the new key, which can still decrypt values of the old key. */
let after: Pick<MailApp, 'app' | 'clock'>
beforeAll(async () => {
  before = await openMailApp({
    AUTH_SECURITY_DATABASE_ENCRYPTION_KEY: oldKey.toString('base64url'),
    AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
    AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
  })
  const { deps, clock } = before
  after = { app: await buildApp({ ...deps, encryptionKeys: keys, serverKeys: deriveServerKeys(keys) }), clock }
})
afterAll(async () => {
  await after.app.close()
  await before.close()
})

const post = (url: string, payload: object, headers = {}) => after.app.inject({ method: 'POST', url, payload, headers })

describe('a new key of the database', () => {
  it('still accepts the code of an earlier mail', async () => {
    const email = 'ada@example.com'
    await before.post('/signup', { email, password: 'correct horse battery staple' })
    const { code } = await before.readMail(email)
    const answer = await post('/verify', { type: 'signup', email, token: code })
    expectSession(answer, confirmedBody(anyId, email, { confirmation_sent_at: anyTime }), { type: 'signup' })
  })

  it('still accepts earlier second factors and recovery codes', async () => {
    const signedIn = await createSignedIn(before)
    const { app, headers } = await addApp(before, signedIn.headers)
    // Factors are listed by age, so the recovery codes must be newer than the app.
    before.clock.advance(1)
    const { codes } = (await before.post('/factors/recovery-codes', {}, headers)).json()
    before.clock.advance(60_000)
    const first = await signIn(before, signedIn)
    const answer = await answerChallenge(after, first.headers, { factorId: app.factorId, code: app.code() })
    const factors = [
      factorBody({ id: app.factorId, last_challenged_at: anyTime }),
      factorBody({ factor_type: 'recovery_code', friendly_name: 'Recovery codes' }),
    ]
    const expected = signedUpBody(signedIn, { factors })
    expectSession(answer, expected)
    const second = await signIn(before, signedIn)
    expectSession(await post('/factors/recovery-codes/verify', { code: codes[0] }, second.headers), expected)
    expect(statusAndBody(await post('/factors/recovery-codes/verify', { code: codes[0] }, second.headers))).toEqual([
      422,
      errorBody(422, 'mfa_verification_failed', 'Invalid recovery code entered'),
    ])
  })
})
