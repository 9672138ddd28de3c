import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { statusAndBody } from './bodies.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { createSignedIn } from './signed-in.ts'
import { createSignedUp } from './signed-up.ts'

const SETTINGS = {
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
  AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
}

const NO_LIMITS = { AUTH_RATE_LIMIT_EMAIL_SENT: 'off', AUTH_RATE_LIMIT_SMS_SENT: 'off' }

let people = 0
const nextPhone = () => `1415555${1_000 + ++people}`
const nextEmail = () => `stranger-${++people}@example.com`
const statusOf = async (answer: ReturnType<MailApp['post']>) => (await answer).statusCode

describe.each(['compatible', 'supabase'])('AUTH_PROFILE=%s', (AUTH_PROFILE) => {
  const services: MailApp[] = []
  const open = async (settings: Readonly<Record<string, string>> = {}) => {
    const service = await openMailApp({ ...SETTINGS, AUTH_PROFILE, ...settings })
    services.push(service)
    return service
  }
  afterEach(async () => {
    for (const service of services.splice(0)) await service.close()
  })

  describe('limits of all clients', () => {
    const LIMITS = { AUTH_RATE_LIMIT_EMAIL_SENT: '2', AUTH_RATE_LIMIT_SMS_SENT: '2' }

    it.each([
      ['/resend', () => ({ type: 'sms', phone: nextPhone() })],
      ['/resend', () => ({ type: 'phone_change', phone: nextPhone() })],
      ['/resend', () => ({ type: 'phone_change', email: nextEmail() })],
    ])('SMS that nobody gets are given back: %s %#', async (url, payload) => {
      const service = await open(LIMITS)
      for (let asked = 0; asked < 5; asked += 1) {
        expect(await statusOf(service.post(url, payload()))).toBe(200)
        await service.idle()
      }
      const phones = [nextPhone(), nextPhone(), nextPhone()]
      const answers = []
      for (const phone of phones) answers.push(await statusOf(service.post('/otp', { phone })))
      expect(answers).toEqual([200, 200, 429])
      expect(service.sms.messages.map(({ to }) => to)).toEqual(phones.slice(0, 2))
    })

    it.each([
      ['/recover', () => ({ email: nextEmail() })],
      ['/resend', () => ({ type: 'signup', email: nextEmail() })],
      ['/resend', () => ({ type: 'email_change', email: nextEmail() })],
      ['/resend', () => ({ type: 'email_change', phone: nextPhone() })],
    ])('mails that nobody gets are given back: %s %#', async (url, payload) => {
      const service = await open(LIMITS)
      for (let asked = 0; asked < 5; asked += 1) {
        expect(await statusOf(service.post(url, payload()))).toBe(200)
        await service.idle()
      }
      const answers = []
      for (let asked = 0; asked < 3; asked += 1) {
        answers.push(
          await statusOf(service.post('/signup', { email: nextEmail(), password: 'a password of a new user' })),
        )
      }
      expect(answers).toEqual([200, 200, 429])
    })

    it('sign-ups with an address that is taken are given back', async () => {
      const service = await open(LIMITS)
      const phone = nextPhone()
      const { email } = await createSignedUp(service.deps, { phone, phone_confirmed_at: new Date() })
      const password = 'a password of a stranger'
      for (let asked = 0; asked < 5; asked += 1) {
        expect([
          await statusOf(service.post('/signup', { email, password })),
          await statusOf(service.post('/signup', { phone, password })),
        ]).toEqual([200, 200])
      }
      expect([
        await statusOf(service.post('/signup', { email: nextEmail(), password })),
        await statusOf(service.post('/signup', { phone: nextPhone(), password })),
      ]).toEqual([200, 200])
    })

    it('SMS that the gateway refuses are given back', async () => {
      const service = await open(LIMITS)
      const taken = service.sms.answer
      service.sms.answer = { status: 400, body: { code: 21_211, message: 'Invalid To' } }
      for (let asked = 0; asked < 5; asked += 1) {
        expect(await statusOf(service.post('/otp', { phone: nextPhone() }))).toBe(422)
      }
      service.sms.answer = taken
      expect(await statusOf(service.post('/otp', { phone: nextPhone() }))).toBe(200)
    })

    it.each([
      ['/recover', (email: string) => ({ email })],
      ['/resend', (email: string) => ({ type: 'signup', email })],
      ['/resend', (email: string) => ({ type: 'email_change', email })],
    ])('the share of a client counts known and unknown addresses alike: %s %#', async (url, payload) => {
      const service = await open({ AUTH_RATE_LIMIT_EMAIL_SENT: '6', AUTH_TRUSTED_PROXIES: '1' })
      const ask = async (email: string, address: string) => {
        const answer = await service.post(url, payload(email), { 'x-forwarded-for': address })
        await service.idle()
        return answer.statusCode
      }
      const [known, unknown] = [[], []] as [number[], number[]]
      for (let asked = 0; asked < 4; asked += 1) {
        const { email } = await createSignedUp(service.deps, url === '/recover' ? {} : { email_confirmed_at: null })
        unknown.push(await ask(nextEmail(), '203.0.113.1'))
        known.push(await ask(email, '203.0.113.2'))
      }
      expect([known, known.at(-1)]).toEqual([unknown, 429])
    })
  })

  it.each(['sms', 'phone_change'])('a repeated %s without a gateway is answered alike for all phones', async (type) => {
    const service = await open({ ...NO_LIMITS, AUTH_SMS_PROVIDER: '' })
    const [waiting, confirmed, changing] = [nextPhone(), nextPhone(), nextPhone()]
    await createSignedUp(service.deps, { phone: waiting })
    await createSignedUp(service.deps, { phone: confirmed, phone_confirmed_at: new Date() })
    const change = { phone_change: nextPhone(), phone_change_sent_at: new Date() }
    await createSignedUp(service.deps, { phone: changing, phone_confirmed_at: new Date(), ...change })
    const answers = []
    for (const phone of [nextPhone(), waiting, confirmed, changing]) {
      for (let asked = 0; asked < 2; asked += 1) {
        answers.push(await statusOf(service.post('/resend', { type, phone })))
        await service.idle()
      }
    }
    const [first, again] = AUTH_PROFILE === 'supabase' ? [200, 200] : [200, 429]
    expect(answers).toEqual([first, again, first, again, first, again, first, again])
  })

  it.each(['sms', 'phone_change'])(
    'a repeated %s to a test phone that nobody has is answered as to others',
    async (type) => {
      const [testPhone, other] = [nextPhone(), nextPhone()]
      const service = await open({ ...NO_LIMITS, AUTH_SMS_TEST_OTP: `${testPhone}:123456` })
      const answers = []
      for (const phone of [testPhone, other, testPhone, other])
        answers.push(await statusOf(service.post('/resend', { type, phone })))
      expect(answers).toEqual(AUTH_PROFILE === 'supabase' ? [200, 200, 200, 200] : [200, 200, 429, 429])
    },
  )

  describe('intervals', () => {
    let service: MailApp
    beforeAll(async () => {
      service = await openMailApp({ ...SETTINGS, AUTH_PROFILE, ...NO_LIMITS })
    })
    afterAll(() => service.close())

    it.each([
      ['/resend', (phone: string) => ({ type: 'sms', phone })],
      ['/resend', (phone: string) => ({ type: 'phone_change', phone })],
      ['/signup', (phone: string) => ({ phone, password: 'a password of a stranger' })],
    ])('a request that sends no SMS holds off no code to sign in with: %s %#', async (url, payload) => {
      const phone = nextPhone()
      await createSignedUp(service.deps, { phone, phone_confirmed_at: new Date() })
      expect(await statusOf(service.post(url, payload(phone)))).toBe(200)
      expect(await statusOf(service.post('/otp', { phone }))).toBe(200)
      await service.sms.read(phone)
    })

    it('a request for a recovery of an unknown address holds off no magic link', async () => {
      const email = nextEmail()
      expect([
        await statusOf(service.post('/recover', { email })),
        await statusOf(service.post('/magiclink', { email })),
      ]).toEqual([200, 200])
      await service.readMail(email)
    })

    it('a request to send a change again holds off no change of the user', async () => {
      const phone = nextPhone()
      const { email, headers } = await createSignedIn(service, { phone, phone_confirmed_at: new Date() })
      for (const payload of [
        { type: 'email_change', email },
        { type: 'email_change', phone },
        { type: 'phone_change', email },
        { type: 'phone_change', phone },
      ]) {
        expect(await statusOf(service.post('/resend', payload))).toBe(200)
      }
      const changes = { email: nextEmail(), phone: nextPhone() }
      const changed = await service.app.inject({ method: 'PUT', url: '/user', headers, payload: changes })
      expect(changed.statusCode).toBe(200)
      await Promise.all([service.readMail(changes.email), service.sms.read(changes.phone)])
    })

    it('a change that was sent again holds off no change to another address', async () => {
      const { email, headers } = await createSignedIn(service)
      const change = (wanted: string) =>
        service.app.inject({ method: 'PUT', url: '/user', headers, payload: { email: wanted } })
      const [first, second] = [nextEmail(), nextEmail()]
      expect((await change(first)).statusCode).toBe(200)
      await service.readMail(first)
      service.clock.advance(60_000)
      expect(await statusOf(service.post('/resend', { type: 'email_change', email }))).toBe(200)
      await service.readMail(first)
      expect((await change(second)).statusCode).toBe(200)
      await service.readMail(second)
    })

    it('what strangers ask for holds off no nonce of a user without an email', async () => {
      const phone = nextPhone()
      const { headers } = await createSignedIn(service, { phone, phone_confirmed_at: new Date() })
      await service.deps.db.updateTable('users').set({ email: null }).where('phone', '=', phone).execute()
      expect(await statusOf(service.post('/otp', { phone }))).toBe(200)
      const asked = await service.app.inject({ method: 'GET', url: '/reauthenticate', headers })
      expect(asked.statusCode).toBe(200)
    })

    it("a factor of somebody else with the same number holds off no challenge of the user's own", async () => {
      const phone = nextPhone()
      const challenges = []
      for (const status of ['unverified', 'verified'] as const) {
        const { headers } = await createSignedIn(service)
        const payload = { factor_type: 'phone', friendly_name: 'mine', phone }
        const { id } = (await service.post('/factors', payload, headers)).json()
        await service.deps.db.updateTable('mfa_factors').set({ status }).where('id', '=', id).execute()
        const challenge = () => service.post(`/factors/${id}/challenge`, {}, headers)
        challenges.push((await challenge()).statusCode, (await challenge()).statusCode)
      }
      expect(challenges).toEqual([200, 429, 200, 429])
    })

    it('one address that many users want gets one mail in an interval', async () => {
      const [email, phone] = [nextEmail(), nextPhone()]
      const answers = []
      for (let users = 0; users < 12; users += 1) {
        const { access_token: token } = (await service.post('/signup', {})).json()
        const headers = { authorization: `Bearer ${token}` }
        const change = async (payload: object) =>
          (await service.app.inject({ method: 'PUT', url: '/user', headers, payload })).statusCode
        answers.push(await change({ email }), await change({ phone }))
      }
      await service.idle()
      expect(answers).toEqual([200, 200, ...Array(22).fill(429)])
      expect(service.recipients().filter((to) => to === email)).toEqual([email])
      expect(service.sms.messages.filter(({ to }) => to === phone)).toHaveLength(1)
    })

    it('a repeated request is refused for known and unknown addresses alike', async () => {
      const { email } = await createSignedUp(service.deps)
      const twice = async (payload: object) => [
        statusAndBody(await service.post('/recover', payload)),
        statusAndBody(await service.post('/recover', payload)),
      ]
      const tooSoon = 'For security purposes, you can only request this after 60 seconds.'
      const refused = { code: 429, error_code: 'over_email_send_rate_limit', msg: tooSoon }
      expect([await twice({ email }), await twice({ email: nextEmail() })]).toEqual(
        Array(2).fill([
          [200, {}],
          [429, refused],
        ]),
      )
    })
  })
})
