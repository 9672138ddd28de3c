import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addApp } from '../../test/authenticator-app.ts'
import { anyId, anyTime, errorBody, outcomeOf, signedUpBody, statusAndBody } from '../../test/bodies.ts'
import { expectUser } from '../../test/expect-user.ts'
import { OPERATOR } from '../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, type SignedIn, signIn } from '../../test/signed-in.ts'

// An attack: the thief of a session requests a change of address. Everything that ends the session must also end the change,
// because anyone could have its code resent.
const NEW_PASSWORD = 'a staple of batteries'
let people = 0

describe.each(['compatible', 'strict'])(
  'a change of address that a thief has asked for, AUTH_PROFILE=%s',
  (profile) => {
    let service: MailApp
    let signedIn: SignedIn
    let phone: string
    let email: string
    beforeAll(async () => {
      const settings = {
        AUTH_PROFILE: profile,
        AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
        AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
        AUTH_RATE_LIMIT_SMS_SENT: 'off',
        AUTH_SMTP_MAX_FREQUENCY: '0',
        AUTH_SMS_MAX_FREQUENCY: '0',
        AUTH_SMS_OTP_EXP: '600',
        AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      }
      // Authentication methods have times of the database clock.
      service = await openMailApp(settings, { replace: () => ({ now: () => new Date() }) })
    })
    afterAll(() => service.close())
    beforeEach(async () => {
      people += 1
      phone = `1415888${1000 + people}`
      email = `thief${people}@example.com`
      signedIn = await createSignedIn(service)
    })

    const put = async (headers: SignedIn['headers'], payload: object) => {
      const answer = await service.app.inject({ method: 'PUT', url: '/user', headers, payload })
      expect(outcomeOf(answer)).toBe(200)
    }
    const update = async (payload: object, members: object = {}) => {
      const url = `/admin/users/${signedIn.user.id}`
      const answer = await service.app.inject({ method: 'PUT', url, headers: OPERATOR, payload })
      expectUser(answer, signedUpBody(signedIn, { last_sign_in_at: anyTime, ...members }))
    }
    const signOut = async (scope: string) => {
      const owner = await signIn(service, signedIn)
      expect(statusAndBody(await service.post(`/logout?scope=${scope}`, {}, owner.headers))).toEqual([204, ''])
    }
    const setPassword = async () =>
      put((await signIn(service, signedIn)).headers, { password: NEW_PASSWORD, current_password: signedIn.password })
    const enrol = async () => {
      const clock = { now: () => new Date(), advance: () => {} }
      await addApp({ ...service, clock }, (await signIn(service, signedIn)).headers)
    }
    const EXPIRED = [403, errorBody(403, 'otp_expired', 'Token has expired or is invalid')]
    const verify = async (payload: object) => outcomeOf(await service.post('/verify', payload))
    const resend = async (type: 'email_change' | 'phone_change') =>
      expect(statusAndBody(await service.post('/resend', { type, email: signedIn.email }))).toEqual([
        200,
        { message_id: anyId },
      ])
    const mails = () => service.recipients().filter((to) => to === email).length
    const waiting = () =>
      service.deps.db
        .selectFrom('users')
        .select(['email_change', 'email_change_confirm_status', 'phone_change'])
        .where('id', '=', signedIn.user.id)
        .executeTakeFirst()

    it.each([
      ['a new password', () => setPassword()],
      ['a password that an admin sets', () => update({ password: NEW_PASSWORD })],
      ['another role', () => update({ role: 'editor' }, { role: 'editor' })],
      ['a first factor', () => enrol()],
      ['a sign-out from everywhere', () => signOut('global')],
    ])('is voided by %s, also while its mail is sent, and cannot be sent again', async (_name, end) => {
      await put(signedIn.headers, { phone })
      await put(signedIn.headers, { email })
      const { code: smsCode } = await service.sms.read(phone)
      const { code: mailCode } = await service.readMail(email)
      const present = {
        type: 'email_change',
        email: signedIn.email,
        token: (await service.readMail(signedIn.email)).code,
      }
      expect(await verify(present)).toBe(200)
      await end()
      expect(await waiting()).toEqual({ email_change: '', email_change_confirm_status: 0, phone_change: '' })
      expect(await verify({ type: 'phone_change', phone, token: smsCode })).toEqual(EXPIRED)
      expect(await verify({ type: 'email_change', email, token: mailCode })).toEqual(EXPIRED)
      await resend('phone_change')
      await resend('email_change')
      await service.idle()
      expect(mails()).toBe(1)
      const tokens = service.deps.db
        .selectFrom('one_time_tokens')
        .select('kind')
        .where('user_id', '=', signedIn.user.id)
      expect(await tokens.execute()).toEqual([])
    })

    it('survives a sign-out of scope local', async () => {
      await put(signedIn.headers, { phone })
      await signOut('local')
      const { code } = await service.sms.read(phone)
      expect(await verify({ type: 'phone_change', phone, token: code })).toBe(200)
    })

    it('can be sent again for a day after the request, any number of times', async () => {
      const age = (interval: string) => {
        const columns = ['email_change_asked_at', 'phone_change_asked_at'] as const
        const older = columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(column)} - ${interval}::interval`)
        return sql`UPDATE ${sql.table('users')} SET ${sql.join(older)} WHERE id = ${signedIn.user.id}`.execute(
          service.deps.db,
        )
      }
      await put(signedIn.headers, { phone })
      await put(signedIn.headers, { email })
      await service.readMail(email)
      const first = await service.sms.read(phone)
      await age('23 hours')
      await resend('email_change')
      await resend('phone_change')
      await service.readMail(email)
      expect((await service.sms.read(phone)).code).not.toBe(first.code)
      await age('1 hour')
      await resend('email_change')
      await resend('phone_change')
      await service.idle()
      expect(mails()).toBe(2)
      const sent = service.deps.db
        .selectFrom('one_time_tokens')
        .select('sent_at')
        .where('user_id', '=', signedIn.user.id)
      const before = await sent.execute()
      await resend('phone_change')
      await service.idle()
      expect(await sent.execute()).toEqual(before)
    })
  },
)
