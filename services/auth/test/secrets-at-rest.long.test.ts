import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServiceLog } from '@trestle/service/create-service-log.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { generateSigningKey } from '../src/access-tokens/signing-key.ts'
import { answerChallenge, enrolApp } from './authenticator-app.ts'
import { anyId, anyTime, confirmedBody } from './bodies.ts'
import { readRows, spellings } from './dump.ts'
import { expectUser } from './expect-user.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { createOperator, OPERATOR_SETTINGS, operate } from './operators.ts'
import { createSignedUp } from './signed-up.ts'

const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
const log = createServiceLog({ level: 'debug', file: join(folder, 'log'), stdout: false })
const JWT_SECRET = 'a secret of at least 32 bytes, for tests'
let service: MailApp
beforeAll(async () => {
  const key = await generateSigningKey('ES256', 'es')
  keep('private key', key.d ?? '')
  service = await openMailApp(
    {
      ...OPERATOR_SETTINGS,
      AUTH_OPERATOR_SIGN_IN_AS: 'yes',
      AUTH_JWT_KEYS: JSON.stringify([{ ...key, key_ops: ['sign'] }]),
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMTP_MAX_FREQUENCY: '0',
      AUTH_SMS_MAX_FREQUENCY: '0',
      // Codes are longer than any number that a row or log line contains by chance.
      AUTH_MAILER_OTP_LENGTH: '10',
      AUTH_SMS_OTP_LENGTH: '10',
      AUTH_MFA_PHONE_OTP_LENGTH: '10',
      AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
      AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
      AUTH_MFA_RECOVERY_CODES_ENROLL_ENABLED: 'true',
      AUTH_MFA_RECOVERY_CODES_VERIFY_ENABLED: 'true',
    },
    { logger: log.logger },
  )
  await signEverybodyIn()
})
afterAll(async () => {
  await service.close()
  rmSync(folder, { recursive: true })
})

/** The secrets, by name. No row and no log line may contain them. */
const secrets = new Map<string, string>([['JWT_SECRET', JWT_SECRET]])
/** Values that rows may contain but log lines may not. */
const addresses = ['ada@example.com', 'grace@example.com', '14155550100']

const keep = (name: string, value: string): string => {
  expect([name, value.length >= 10]).toEqual([name, true])
  secrets.set(`${name} ${secrets.size}`, value)
  return value
}

/** Runs every flow that creates a secret, and uses up each secret. */
async function signEverybodyIn(): Promise<void> {
  const [ada = '', grace = '', phone = ''] = addresses
  const password = keep('password', 'correct horse battery staple')
  const read = async (email: string) => {
    const { code, token, link } = await service.readMail(email)
    keep('code of a mail', code)
    keep('token of a link', token)
    return { code, token, path: `${link.pathname}${link.search}` }
  }
  const take = async (url: string, payload: object, headers: Record<string, string> = {}) => {
    const answer = await service.post(url, payload, headers)
    expect([url, answer.statusCode, answer.body]).toEqual([url, 200, expect.anything()])
    const { access_token, refresh_token } = answer.json()
    if (access_token) keep('access token', access_token)
    if (refresh_token) keep('refresh token', refresh_token)
    return answer.json()
  }

  await take('/signup', { email: ada, password })
  await take('/verify', { type: 'signup', email: ada, token: (await read(ada)).code })
  const session = await take('/token?grant_type=password', { email: ada, password })
  await take('/token?grant_type=refresh_token', { refresh_token: session.refresh_token })

  const verifier = keep('code verifier', 'v'.repeat(50))
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  await take('/signup', { email: grace, password, code_challenge: challenge, code_challenge_method: 's256' })
  const redirected = await service.app.inject((await read(grace)).path)
  const authCode = keep('auth code', new URL(String(redirected.headers.location)).searchParams.get('code') ?? '')
  await take('/token?grant_type=pkce', { auth_code: authCode, code_verifier: verifier })

  await take('/recover', { email: ada })
  await take('/verify', { type: 'recovery', token_hash: (await read(ada)).token })
  await take('/otp', { phone })
  await take('/verify', { type: 'sms', phone, token: keep('code of an SMS', (await service.sms.read(phone)).code) })

  const bearer = { authorization: `Bearer ${session.access_token}` }
  await service.app.inject({ url: '/reauthenticate', headers: bearer })
  keep('nonce', (await service.readMail(ada)).code)
  const payload = { email: 'new@example.com', password: keep('password', 'another long password') }
  const changed = await service.app.inject({ method: 'PUT', url: '/user', headers: bearer, payload })
  expectUser(
    changed,
    confirmedBody(anyId, ada, {
      confirmation_sent_at: anyTime,
      recovery_sent_at: anyTime,
      new_email: payload.email,
      email_change_sent_at: anyTime,
      reauthentication_sent_at: anyTime,
      last_sign_in_at: anyTime,
    }),
  )
  await read(ada)
  await read('new@example.com')
  await take('/invite', { email: 'invited@example.com' }, OPERATOR)
  await read('invited@example.com')
  const link = await take('/admin/generate_link', { type: 'recovery', email: ada }, OPERATOR)
  keep('token of a link', link.hashed_token)
  keep('code of a link', link.email_otp)

  // These secrets stay unused.
  await take('/magiclink', { email: grace })
  await read(grace)
  await take('/otp', { phone })
  keep('code of an SMS', (await service.sms.read(phone)).code)
  await service.app.inject({
    method: 'POST',
    url: '/admin/users',
    headers: OPERATOR,
    payload: { email: 'x@y.z', password },
  })
  await showSecondFactors(bearer)
  await generateSignInLink()
  await askInVain(session.access_token, password)
}

/** Enrols second factors of each kind, and uses some of them. */
async function showSecondFactors(headers: { readonly authorization: string }): Promise<void> {
  let bearer = headers
  const ask = async (url: string, payload: object) => (await service.post(url, payload, bearer)).json()
  const app = await enrolApp(service, headers, 'app')
  keep('secret of an app', app.secret)
  const answer = await answerChallenge(service, headers, { factorId: app.factorId, code: app.code() })
  expect(answer.statusCode).toBe(200)
  keep('refresh token', answer.json().refresh_token)
  bearer = { authorization: `Bearer ${keep('access token', answer.json().access_token)}` }
  const { codes } = await ask('/factors/recovery-codes', {})
  for (const recoveryCode of codes) keep('recovery code', recoveryCode)
  await ask('/factors/recovery-codes/verify', { code: codes[0] })
  const { id } = await ask('/factors', { factor_type: 'phone', phone: addresses[2], friendly_name: 'phone' })
  const { id: challenge_id } = await ask(`/factors/${id}/challenge`, {})
  const code = keep('code of a factor', (await service.sms.read(addresses[2] ?? '')).code)
  await ask(`/factors/${id}/verify`, { challenge_id, code: '0' })
  await ask(`/factors/${id}/verify`, { challenge_id, code })
}

/** Creates an operator's sign-in link, and leaves it unused. For a day, an idempotent request gets the same link. */
async function generateSignInLink(): Promise<void> {
  const { user } = await createSignedUp(service.deps)
  const admin = await createOperator(service, 'admin')
  const [status, body] = await operate(service, admin, `POST /users/${user.id}/sign-in-link`, { reason: 'Ticket 4711' })
  const { link } = z.object({ link: z.string() }).parse(body)
  const token = new URL(link).searchParams.get('token') ?? ''
  expect([status, keep('token of a sign-in link', token)]).toEqual([201, expect.stringMatching(/^[0-9a-f]{56}$/)])
}

/** Sends invalid requests, which are logged too, with secrets in the right and in wrong members. */
async function askInVain(accessToken: string, password: string): Promise<void> {
  const misplaced = keep('misplaced secret', 'Tr0ub4dor-and-3')
  const bearer = { authorization: `Bearer ${accessToken}x`, cookie: `token=${misplaced}`, apikey: misplaced }
  await service.app.inject({ url: `/user?access_token=${misplaced}&password=${misplaced}`, headers: bearer })
  await service.app.inject(`/verify?type=signup&token=${misplaced}&token_hash=${misplaced}`)
  await service.app.inject(`/nowhere/at/all?code=${misplaced}`)
  await service.post('/token?grant_type=password', { email: addresses[0], password: misplaced })
  await service.post('/token?grant_type=password', `{"email":"x","password":"${password}`)
  await service.post(`/token?grant_type=${misplaced}`, { refresh_token: misplaced })
  await service.post('/signup', { email: misplaced, password: [misplaced] })
}

describe('secrets', () => {
  // ASVS 14.2.4
  it('are stored in no row in the clear', async () => {
    await service.idle()
    const rows = await readRows(service.deps)
    // Check that the search finds a stored text.
    expect(addresses.filter((address) => !rows.includes(address))).toEqual([])
    const found = [...secrets].filter(([, secret]) => spellings(secret).some((text) => rows.includes(text)))
    expect(found.map(([name]) => name)).toEqual([])
    expect(secrets.size).toBeGreaterThan(25)
  })

  // ASVS 16.2.5
  it('appear in no log line, and neither do addresses', async () => {
    await service.idle()
    await log.flush()
    const lines = readFileSync(join(folder, 'log'), 'utf8')
    expect(lines.includes('"route":"/verify"')).toBe(true)
    const found = [...secrets].filter(([, secret]) => spellings(secret).some((text) => lines.includes(text)))
    expect(found.map(([name]) => name)).toEqual([])
    expect(addresses.filter((address) => lines.includes(address))).toEqual([])
  })
})
