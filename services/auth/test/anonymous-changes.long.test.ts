import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { errorBody, outcomeOf, wrongPassword } from './bodies.ts'
import { type AnybodyStub, beginLinking, comeBackAs, startAnybodyProvider } from './external/anybody-provider.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openMailApp } from './mail-app.ts'

// An attack: an anonymous stranger requests the address of another person, and becomes permanent before the owner confirms it.
// Then the confirmation must not take over the account.
const PASSWORD = 'the password of a stranger'
const EXPIRED = [403, errorBody(403, 'otp_expired', 'Token has expired or is invalid')]
let service: MailApp
let stub: AnybodyStub
let people = 0
let email: string
let phone: string
let headers: { readonly authorization: string }
let id: string

beforeAll(async () => {
  stub = await startAnybodyProvider()
  service = await openMailApp({
    ...stub.settings,
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_SMS_AUTOCONFIRM: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_EXTERNAL_KEYCLOAK_EMAIL_OPTIONAL: 'true',
    AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  })
})
afterAll(async () => {
  await service.close()
  await stub.close()
})
beforeEach(async () => {
  people += 1
  email = `owner${people}@example.com`
  phone = `1500555${1_000 + people}`
  const { access_token, user } = (await service.post('/signup', {})).json()
  headers = { authorization: `Bearer ${access_token}` }
  id = user.id
})

const put = async (payload: object) =>
  outcomeOf(await service.app.inject({ method: 'PUT', url: '/user', headers, payload }))
const administer = async (payload: object) =>
  outcomeOf(await service.app.inject({ method: 'PUT', url: `/admin/users/${id}`, headers: OPERATOR, payload }))
async function link(address: object) {
  const state = await beginLinking(service, 'keycloak', headers)
  const { fragment } = await comeBackAs(service, state, { sub: `anonymous${people}`, ...address })
  return 'access_token' in fragment ? 200 : fragment
}
const show = () =>
  service.deps.db
    .selectFrom('users')
    .select(['is_anonymous', 'email_change', 'phone_change'])
    .where('id', '=', id)
    .executeTakeFirst()
const messages = () => service.deps.db.selectFrom('one_time_tokens').select('kind').where('user_id', '=', id).execute()

describe('an anonymous user who becomes permanent while a change is pending', () => {
  it.each([
    ['links an account without an address', () => link({})],
    ['links an account with a verified address', () => link({ email: `own${people}@example.com`, verified: true })],
    ['takes a phone that counts as confirmed', () => put({ phone })],
    ['gets a confirmed phone by an admin', () => administer({ phone, phone_confirm: true })],
  ])('loses the change: %s', async (_way, becomePermanent) => {
    expect(await put({ email, password: PASSWORD })).toBe(200)
    const { code } = await service.readMail(email)
    await service.deps.db.updateTable('users').set({ phone_change: '15005559999' }).where('id', '=', id).execute()
    expect(await becomePermanent()).toBe(200)
    expect(await show()).toEqual({ is_anonymous: false, email_change: '', phone_change: '' })
    expect(await messages()).toEqual([])
    expect(outcomeOf(await service.post('/verify', { type: 'email_change', email, token: code }))).toEqual(EXPIRED)
    const byPassword = await service.post('/token?grant_type=password', { email, password: PASSWORD })
    expect(outcomeOf(byPassword)).toEqual(wrongPassword)
  })

  it('loses a change of phone: an admin confirms an email', async () => {
    await service.deps.db.updateTable('users').set({ phone_change: phone }).where('id', '=', id).execute()
    expect(await administer({ email, email_confirm: true })).toBe(200)
    expect(await show()).toEqual({ is_anonymous: false, email_change: '', phone_change: '' })
  })

  it('keeps the change that the same request asks for', async () => {
    expect(await put({ email, phone })).toBe(200)
    const { code } = await service.readMail(email)
    expect(await show()).toEqual({ is_anonymous: false, email_change: email, phone_change: '' })
    const answer = await service.post('/verify', { type: 'email_change', email, token: code })
    expect(outcomeOf(answer)).toBe(200)
  })

  it('keeps the change while the user stays anonymous: an admin sets an unconfirmed phone', async () => {
    expect(await put({ email })).toBe(200)
    expect(await administer({ phone })).toBe(200)
    expect(await show()).toEqual({ is_anonymous: true, email_change: email, phone_change: '' })
  })
})
