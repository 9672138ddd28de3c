import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import {
  anyId,
  anyTime,
  confirmedBody,
  emailIdentity,
  errorBody,
  outcomeOf,
  statusAndBody,
  userBody,
} from './bodies.ts'
import { OPERATOR } from './forged-token.ts'
import { openMailApp } from './mail-app.ts'
import { createSignedIn } from './signed-in.ts'
import { createSignedUp } from './signed-up.ts'

// Users of different audiences cannot see each other, but an address belongs to one user in all audiences.
const service = await openMailApp({
  AUTH_JWT_ALLOWED_AUDIENCES: 'mobile',
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
})
const { deps } = service
afterAll(() => service.close())

const password = 'correct horse'
const inAudience = (audience: string) => ({ 'x-jwt-aud': audience })
const REFUSED = { code: 400, error_code: 'validation_failed', msg: 'X-JWT-AUD names no audience of this service' }
let people = 0
let email: string
beforeEach(() => {
  people += 1
  email = `audience${people}@example.com`
})

describe('an audience that the settings do not name', () => {
  it.each([
    ['/signup', { password }],
    ['/otp', {}],
    ['/magiclink', {}],
    ['/recover', {}],
    ['/resend', { type: 'signup' }],
    ['/verify', { type: 'signup', token: '123456' }],
    ['/token?grant_type=password', { password }],
  ])('400: POST %s refuses it and stores nothing', async (url, payload) => {
    const answer = await service.post(url, { email, ...payload }, inAudience('squat'))
    const oauth = url.startsWith('/token') ? { error: 'invalid_request', error_description: REFUSED.msg } : {}
    expect([answer.statusCode, answer.json()]).toEqual([400, { ...REFUSED, ...oauth }])
    expect(await deps.db.selectFrom('users').select('id').where('email', '=', email).execute()).toEqual([])
    expect((await service.post('/signup', { email, password })).json()).toEqual(
      userBody({ email, confirmation_sent_at: anyTime, identities: [emailIdentity(anyId, email)] }),
    )
    expect((await service.readMail(email)).link.pathname).toBe('/verify')
  })

  it('400: refuses it for an anonymous user', async () => {
    expect((await service.post('/signup', {}, inAudience('squat'))).json()).toEqual(REFUSED)
    expect((await service.post('/signup', {}, inAudience('mobile'))).json().user.aud).toBe('mobile')
  })

  it('200: accepts it from an admin', async () => {
    const made = await service.post('/admin/users', { email, email_confirm: true }, { ...OPERATOR, ...inAudience('x') })
    expect(statusAndBody(made)).toEqual([200, confirmedBody(anyId, email, { aud: 'x' })])
  })

  it('403: refuses it from a former admin and from an admin who has signed out', async () => {
    const admin = await createSignedIn(service, { role: 'supabase_admin' })
    const headers = { ...admin.headers, ...inAudience('squat') }
    const signUp = () => service.post('/signup', { email, password }, headers)
    const setRole = (role: string) =>
      deps.db.updateTable('users').set({ role }).where('id', '=', admin.user.id).execute()
    await setRole('authenticated')
    expect((await signUp()).json()).toEqual(errorBody(403, 'not_admin', 'User not allowed'))
    await setRole('supabase_admin')
    await deps.db.deleteFrom('sessions').where('user_id', '=', admin.user.id).execute()
    expect((await signUp()).json()).toEqual(
      errorBody(403, 'session_not_found', 'Session from session_id claim in JWT does not exist'),
    )
    expect(await deps.db.selectFrom('users').select('id').where('email', '=', email).execute()).toEqual([])
  })
})

describe('the interval between two messages', () => {
  it.each([
    ['/recover', {}],
    ['/otp', {}],
    ['/magiclink', {}],
  ])('200: POST %s is not delayed by a message for another audience', async (url, payload) => {
    await createSignedUp(deps, { email })
    const there = inAudience('mobile')
    const first = outcomeOf(await service.post(url, { email, create_user: false, ...payload }, there))
    const disabled = [422, errorBody(422, 'otp_disabled', 'Signups not allowed for otp')]
    expect(first).toEqual(url === '/otp' ? disabled : 200)
    const again = url === '/recover' ? url : '/magiclink'
    const second = outcomeOf(await service.post(again, { email, create_user: false }, there))
    const wait = 'For security purposes, you can only request this after 60 seconds.'
    const early = [429, errorBody(429, 'over_email_send_rate_limit', wait)]
    expect(second).toEqual(url === '/otp' ? 200 : early)
    expect(statusAndBody(await service.post(url, { email, ...payload }))).toEqual([200, {}])
    expect((await service.readMail(email)).code).toMatch(/^\d{6}$/)
    expect(statusAndBody(await service.post(url, { email, ...payload }))).toEqual(early)
  })

  it.each([
    ['/signup', 'mail', { password: 'planted password', data: { planted: true } }],
    ['/otp', 'mail', { data: { planted: true } }],
    ['/otp', 'SMS', { data: { planted: true } }],
  ])('200: POST %s by %s for another audience voids no message of the interval', async (url, medium, stolen) => {
    const phone = `1415555${3000 + people}`
    const to = medium === 'mail' ? { email } : { phone }
    const read = async () => (medium === 'mail' ? service.readMail(email) : service.sms.read(phone))
    const first = url === '/signup' ? { password, data: { own: true } } : { data: { own: true } }
    expect((await service.post(url, { ...to, ...first })).statusCode).toBe(200)
    const { code } = await read()
    for (const path of ['/signup', '/otp'].filter((other) => url === '/signup' || other === url)) {
      expect((await service.post(path, { ...to, ...stolen }, inAudience('mobile'))).statusCode).toBe(200)
    }
    await service.idle()
    const type = medium === 'SMS' ? 'sms' : 'email'
    const { user } = (await service.post('/verify', { type, ...to, token: code })).json()
    expect([user.aud, user.user_metadata]).toEqual(['authenticated', { own: true }])
  })

  it('200: a signup of another audience after the interval delays the next message', async () => {
    await service.post('/signup', { email, password, data: { from: 'first' } })
    await service.readMail(email)
    service.clock.advance(900_000)
    const pending = (aud: string, data: object) =>
      userBody({
        aud,
        email,
        confirmation_sent_at: anyTime,
        user_metadata: data,
        identities: [emailIdentity(anyId, email, { ...data })],
      })
    const second = { email, password, data: { from: 'second' } }
    const elsewhere = await service.post('/signup', second, inAudience('mobile'))
    expect(statusAndBody(elsewhere)).toEqual([200, pending('mobile', second.data)])
    service.clock.advance(1_000)
    const third = { email, password, data: { from: 'third' } }
    expect(statusAndBody(await service.post('/signup', third))).toEqual([200, pending('authenticated', third.data)])
    const { code } = await service.readMail(email)
    const answer = await service.post('/verify', { type: 'signup', email, token: code }, inAudience('mobile'))
    expect(answer.json().user).toEqual(
      userBody({
        aud: 'mobile',
        email,
        email_confirmed_at: anyTime,
        confirmation_sent_at: anyTime,
        confirmed_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { from: 'second' },
        identities: [emailIdentity(anyId, email, { from: 'second', email_verified: true })],
      }),
    )
  })

  it('200: POST /resend is not delayed by a message for another audience', async () => {
    await service.post('/signup', { email, password })
    await service.readMail(email)
    service.clock.advance(900_000)
    expect(statusAndBody(await service.post('/resend', { type: 'signup', email }, inAudience('mobile')))).toEqual([
      200,
      { message_id: anyId },
    ])
    expect(statusAndBody(await service.post('/resend', { type: 'signup', email }))).toEqual([
      200,
      { message_id: anyId },
    ])
    await service.readMail(email)
  })

  it('200: POST /otp by SMS is not delayed by a message for another audience', async () => {
    const phone = `1415555${2000 + people}`
    const { user } = await createSignedUp(deps, { phone, phone_confirmed_at: new Date(0) })
    expect(statusAndBody(await service.post('/otp', { phone }, inAudience('mobile')))).toEqual([200, {}])
    expect(statusAndBody(await service.post('/otp', { phone }))).toEqual([200, {}])
    const { code } = await service.sms.read(phone)
    const answer = await service.post('/verify', { type: 'sms', phone, token: code })
    expect(answer.json().user.id).toBe(user.id)
  })
})
