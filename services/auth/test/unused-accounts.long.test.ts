import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { errorBody, outcomeOf, statusAndBody, wrongPassword } from './bodies.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openBeside, openMailApp } from './mail-app.ts'
import { createSignedIn, type SignedIn } from './signed-in.ts'

// Tests an attack: a stranger signs up with another person's address and never confirms it, to lock out its owner.
const SETTINGS = {
  AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
}
const PASSWORD = 'the password of a stranger'
const TAKEN = [422, errorBody(422, 'email_exists', 'A user with this email address has already been registered')]
const PHONE_TAKEN = [422, errorBody(422, 'phone_exists', 'A user with this phone number has already been registered')]

let service: MailApp
let atOnce: MailApp
let owner: SignedIn
let people = 0
let email: string
let phone: string
beforeAll(async () => {
  service = await openMailApp(SETTINGS)
  atOnce = await openBeside(service, { ...SETTINGS, AUTH_MAILER_AUTOCONFIRM: 'true', AUTH_SMS_AUTOCONFIRM: 'true' })
})
afterAll(async () => {
  await atOnce.close()
  await service.close()
})
beforeEach(async () => {
  service.clock.advance(61_000)
  people += 1
  email = `squatted${people}@example.com`
  phone = `1415666${1_000 + people}`
  owner = await createSignedIn(service)
})

const put = (
  payload: object,
  { headers }: Pick<SignedIn, 'headers'> = owner,
  { app }: Pick<MailApp, 'app'> = service,
) => app.inject({ method: 'PUT', url: '/user', headers, payload })
const users = () => service.deps.db.selectFrom('users')
const idsOf = async (kind: 'email' | 'phone', value: string) =>
  (await users().select('id').where(kind, '=', value).execute()).map(({ id }) => id)
/** Signs up, and waits for the message. The next message is possible after the interval. */
async function squat(): Promise<string> {
  expect(outcomeOf(await service.post('/signup', { email, password: PASSWORD }))).toBe(200)
  const { code } = await service.readMail(email)
  service.clock.advance(61_000)
  return code
}

describe('an unused account', () => {
  it('gives its email up to a user who changes to it, and is left without a way in', async () => {
    const code = await squat()
    const [stranger] = await idsOf('email', email)
    expect(outcomeOf(await put({ email }))).toBe(200)
    expect(await idsOf('email', email)).toEqual([stranger])
    const { token } = await service.readMail(email)
    expect(outcomeOf(await service.post('/verify', { type: 'email_change', token_hash: token }))).toBe(200)
    expect(await idsOf('email', email)).toEqual([owner.user.id])
    expect(statusAndBody(await service.post('/token?grant_type=password', { email, password: PASSWORD }))).toEqual(
      wrongPassword,
    )
    const late = [403, errorBody(403, 'otp_expired', 'Token has expired or is invalid')]
    expect(statusAndBody(await service.post('/verify', { type: 'signup', email, token: code }))).toEqual(late)
    const left = await service.app.inject({ url: `/admin/users/${stranger}`, headers: OPERATOR })
    const { email: none, identities, app_metadata } = left.json()
    expect({ none, identities, app_metadata }).toEqual({ none: '', identities: [], app_metadata: { providers: [] } })
  })

  it('gives its phone up to a user who changes to it', async () => {
    expect(outcomeOf(await service.post('/signup', { phone, password: PASSWORD }))).toBe(200)
    await service.sms.read(phone)
    service.clock.advance(61_000)
    expect(outcomeOf(await put({ phone }))).toBe(200)
    const { code } = await service.sms.read(phone)
    expect(outcomeOf(await service.post('/verify', { type: 'phone_change', phone, token: code }))).toBe(200)
    expect(await idsOf('phone', phone)).toEqual([owner.user.id])
  })

  it('gives its email up to an anonymous user, who gets the message', async () => {
    await squat()
    const { access_token, user } = (await service.post('/signup', {})).json()
    expect(outcomeOf(await put({ email }, { headers: { authorization: `Bearer ${access_token}` } }))).toBe(200)
    const { token } = await service.readMail(email)
    expect(outcomeOf(await service.post('/verify', { type: 'email_change', token_hash: token }))).toBe(200)
    expect(await idsOf('email', email)).toEqual([user.id])
  })

  it('gives its email up by the link that an admin has made', async () => {
    await squat()
    const wanted = { type: 'email_change_new', email: owner.email, new_email: email }
    const { hashed_token: token_hash } = (await service.post('/admin/generate_link', wanted, OPERATOR)).json()
    expect(outcomeOf(await service.post('/verify', { type: 'email_change', token_hash }))).toBe(200)
    expect(await idsOf('email', email)).toEqual([owner.user.id])
  })

  it('keeps its email when it is confirmed first', async () => {
    const code = await squat()
    const [stranger] = await idsOf('email', email)
    await put({ email })
    const { token } = await service.readMail(email)
    expect(outcomeOf(await service.post('/verify', { type: 'signup', email, token: code }))).toBe(200)
    expect(statusAndBody(await service.post('/verify', { type: 'email_change', token_hash: token }))).toEqual(TAKEN)
    expect(await idsOf('email', email)).toEqual([stranger])
  })

  it('belongs to one user where both confirm at the same moment', async () => {
    const code = await squat()
    await put({ email })
    const { token } = await service.readMail(email)
    const answers = await Promise.all([
      service.post('/verify', { type: 'signup', email, token: code }),
      service.post('/verify', { type: 'email_change', token_hash: token }),
    ])
    expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1)
    expect(await idsOf('email', email)).toHaveLength(1)
  })

  it('keeps its email and its phone where a change is applied at once', async () => {
    await squat()
    expect(outcomeOf(await service.post('/signup', { phone, password: PASSWORD }))).toBe(200)
    const { access_token } = (await service.post('/signup', {})).json()
    const anonymous = { headers: { authorization: `Bearer ${access_token}` } }
    expect(statusAndBody(await put({ email }, anonymous, atOnce))).toEqual(TAKEN)
    expect(statusAndBody(await put({ phone }, owner, atOnce))).toEqual(PHONE_TAKEN)
  })
})

describe('an account that somebody has a claim to', () => {
  it.each([
    ['whose user an admin has made', () => service.post('/admin/users', { email, password: PASSWORD }, OPERATOR)],
    ['whose user is invited', () => service.post('/invite', { email }, OPERATOR)],
    ['that was signed in to', async () => set({ last_sign_in_at: new Date() })],
    ['whose user is banned', async () => set({ banned_until: new Date('2100-01-01') })],
    ['whose address is confirmed', async () => set({ email_confirmed_at: new Date() })],
  ])('keeps its email: %s', async (_case, make) => {
    await make()
    expect(statusAndBody(await put({ email }))).toEqual(TAKEN)
  })

  async function set(columns: Partial<Record<'last_sign_in_at' | 'banned_until' | 'email_confirmed_at', Date>>) {
    await squat()
    await service.deps.db.updateTable('users').set(columns).where('email', '=', email).execute()
  }
})
