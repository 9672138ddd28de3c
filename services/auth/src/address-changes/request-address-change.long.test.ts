import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  amrEntry,
  anyId,
  anyTime,
  confirmedBody,
  emailIdentity,
  errorBody,
  phoneIdentity,
  sessionBody,
  signedUpBody,
  statusAndBody,
  userBody,
} from '../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../test/expect-failure.ts'
import { expectSession } from '../../test/expect-user.ts'
import { type MailApp, openBeside, openMailApp } from '../../test/mail-app.ts'
import { createSignedIn, type SignedIn } from '../../test/signed-in.ts'
import { createSignedUp } from '../../test/signed-up.ts'

const SETTINGS = {
  AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_MAILER_NOTIFICATIONS_EMAIL_CHANGED_ENABLED: 'true',
  AUTH_MAILER_NOTIFICATIONS_PHONE_CHANGED_ENABLED: 'true',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
  AUTH_DB_NAMESPACE: 'app',
}

let secure: MailApp
let simple: MailApp
beforeAll(async () => {
  secure = await openMailApp(SETTINGS)
  simple = await openBeside(secure, { ...SETTINGS, AUTH_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false' })
})
afterAll(async () => {
  await simple.close()
  await secure.close()
})
// Each test starts after the resend intervals of earlier tests have passed.
beforeEach(() => secure.clock.advance(61_000))

type Headers = Readonly<Record<string, string>>
const HALF = {
  msg: 'Confirmation link accepted. Please proceed to confirm link sent to the other email',
  code: '200',
}
const DEAD_CODE = [403, 'otp_expired', 'Token has expired or is invalid'] as const
const DEAD_LINK = [403, 'otp_expired', 'Email link is invalid or has expired'] as const

let count = 0
const nextEmail = () => `next${++count}@example.com`
const nextPhone = () => `1415555${1_000 + ++count}`

async function put(test: MailApp, payload: object, { headers }: { readonly headers: Headers }) {
  const answer = await test.app.inject({ method: 'PUT', url: '/user', headers, payload })
  return { status: answer.statusCode, body: answer.json() }
}

async function verify(test: MailApp, payload: object) {
  const answer = await test.post('/verify', { type: 'email_change', ...payload })
  return { status: answer.statusCode, body: answer.json() }
}

const failToVerify = (test: MailApp, payload: object, failure: Failure) =>
  failWith(test, { method: 'POST', url: '/verify', payload: { type: 'email_change', ...payload } }, failure)

/** Requests a change of email and reads the mails to both addresses. */
async function askForChange(test: MailApp, signedIn: SignedIn, email: string, extra: object = {}) {
  const { status, body } = await put(test, { email, ...extra }, signedIn)
  expect({ status, body }).toEqual({
    status: 200,
    body: signedUpBody(signedIn, { new_email: email, email_change_sent_at: anyTime, last_sign_in_at: anyTime }),
  })
  return {
    toNew: await test.readMail(email),
    toCurrent: test === secure ? await test.readMail(signedIn.email) : undefined,
  }
}

describe('PUT /user with an email: secure change', () => {
  it('200: changes the email after both addresses confirm, in either order, by link or code', async () => {
    for (const order of ['new first', 'current first']) {
      const signedIn = await createSignedIn(secure)
      const email = nextEmail()
      const { body } = await put(secure, { email: email.toUpperCase() }, signedIn)
      expect(body).toEqual({
        ...signedIn.record,
        new_email: email,
        email_change_sent_at: anyTime,
        updated_at: anyTime,
      })
      const toNew = await secure.readMail(email)
      const toCurrent = await secure.readMail(signedIn.email)
      expect(toNew.link.searchParams.get('type')).toBe('email_change')
      for (const { mail } of [toNew, toCurrent]) {
        expect(mail.subject).toBe('Confirm your new email address')
        expect(mail.text).toContain(`from ${signedIn.email} to ${email}`)
      }
      const steps = [{ email, token: toNew.code }, { token_hash: toCurrent.token }]
      const [first, second] = order === 'new first' ? steps : steps.toReversed()
      expect(await verify(secure, first ?? {})).toEqual({ status: 200, body: HALF })
      await failToVerify(secure, first ?? {}, 'token' in (first ?? {}) ? DEAD_CODE : DEAD_LINK)
      const done = await verify(secure, second ?? {})
      expect(done).toEqual({
        status: 200,
        body: sessionBody(
          confirmedBody(signedIn.user.id, email, {
            email_confirmed_at: anyTime,
            confirmation_sent_at: anyTime,
            user_metadata: { name: 'Ann' },
          }),
          { access_token: expect.any(String), type: 'email_change' },
        ),
      })
      const notice = await secure.readMail(signedIn.email)
      expect(notice.mail.subject).toBe('Your email address was changed')
      expect(notice.mail.text).toContain(`from ${signedIn.email} to ${email}`)
      const login = await secure.post('/token?grant_type=password', { email, password: signedIn.password })
      expectSession(login, signedUpBody({ ...signedIn, email }))
    }
  })

  it('200: another address starts the change over, and another mail does not', async () => {
    const signedIn = await createSignedIn(secure)
    const first = await askForChange(secure, signedIn, nextEmail())
    expect((await verify(secure, { token_hash: first.toCurrent?.token })).body).toEqual(HALF)
    secure.clock.advance(61_000)
    const email = nextEmail()
    const second = await askForChange(secure, signedIn, email)
    await failToVerify(secure, { token_hash: first.toNew.token }, DEAD_LINK)
    secure.clock.advance(61_000)
    await secure.post('/resend', { type: 'email_change', email: signedIn.email })
    await secure.readMail(email)
    const toCurrent = await secure.readMail(signedIn.email)
    // The current address has agreed only to the first change. Its two messages count as one agreement.
    expect((await verify(secure, { token_hash: second.toCurrent?.token })).body).toEqual(HALF)
    await failToVerify(secure, { token_hash: toCurrent.token }, DEAD_LINK)
    expect((await verify(secure, { email, token: second.toNew.code })).body.user).toEqual(
      confirmedBody(signedIn.user.id, email, {
        confirmation_sent_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { name: 'Ann' },
      }),
    )
  })

  it('200: needs only the new address when the user has no current one', async () => {
    const { access_token: token } = (await secure.post('/signup', {})).json()
    const headers = { authorization: `Bearer ${token}` }
    const email = nextEmail()
    expect((await put(secure, { email }, { headers })).body).toEqual(
      userBody({
        new_email: email,
        email_change_sent_at: anyTime,
        last_sign_in_at: anyTime,
        app_metadata: {},
        is_anonymous: true,
      }),
    )
    const { link, code } = await secure.readMail(email)
    expect(link.searchParams.get('type')).toBe('email_change')
    const { body } = await verify(secure, { email, token: code })
    expect(body.user).toEqual(confirmedBody(anyId, email, { last_sign_in_at: anyTime }))
  })

  it('200: hides from an anonymous user that an address is taken, and sends no mail to it', async () => {
    const phone = nextPhone()
    const owner = await createSignedUp(simple.deps, { phone, phone_confirmed_at: simple.clock.now() })
    const ask = async (wanted: { email: string; phone: string }) => {
      const { access_token: token, user } = (await simple.post('/signup', {})).json()
      const { status, body } = await put(simple, wanted, { headers: { authorization: `Bearer ${token}` } })
      const { new_email: email, new_phone: number, ...rest } = body
      expect({ email, phone: number }).toEqual(wanted)
      return { status, members: Object.keys(rest), isOwn: rest.id === user.id }
    }
    const free = { email: nextEmail(), phone: nextPhone() }
    const known = await ask({ email: owner.email, phone })
    expect(known).toEqual({ status: 200, members: expect.any(Array), isOwn: true })
    expect(known).toEqual(await ask(free))
    await Promise.all([simple.readMail(free.email), simple.sms.read(free.phone)])
    await simple.idle()
    expect(simple.recipients()).not.toContain(owner.email)
    expect(simple.sms.messages.map(({ to }) => to)).not.toContain(phone)
  })

  it('200 and 403: accepts each of two parallel messages once', async () => {
    const signedIn = await createSignedIn(secure)
    const email = nextEmail()
    const { toNew, toCurrent } = await askForChange(secure, signedIn, email)
    const tokens = [toNew.token, toCurrent?.token, toNew.token, toCurrent?.token]
    const answers = await Promise.all(tokens.map((token_hash) => verify(secure, { token_hash })))
    const late = { status: 403, body: errorBody(403, 'otp_expired', 'Email link is invalid or has expired') }
    expect(answers.filter(({ status }) => status !== 200)).toEqual([late, late])
    const bodies = answers.filter(({ status }) => status === 200).map(({ body }) => body.user?.email ?? body.msg)
    expect(bodies.sort()).toEqual([HALF.msg, email])
  })

  it('303: the first link ends in a message, the second in a session or a code', async () => {
    const signedIn = await createSignedIn(secure)
    const { toNew, toCurrent } = await askForChange(secure, signedIn, nextEmail())
    const follow = ({ pathname, search }: URL) => secure.app.inject({ url: pathname + search })
    const message = 'message=Confirmation+link+accepted.+Please+proceed+to+confirm+link+sent+to+the+other+email'
    const half = await follow(toNew.link)
    expect([half.statusCode, half.headers.location]).toEqual([303, `http://localhost:3000/#${message}&sb=`])
    const whole = await follow(toCurrent?.link ?? toNew.link)
    expect(whole.headers.location).toMatch(/^http:\/\/localhost:3000\/#access_token=.*&type=email_change&/)

    const pkce = await createSignedIn(secure)
    const verifier = 'v'.repeat(43)
    const code_challenge = createHash('sha256').update(verifier).digest('base64url')
    const mails = await askForChange(secure, pkce, nextEmail(), { code_challenge, code_challenge_method: 's256' })
    expect(mails.toNew.token).toMatch(/^pkce_/)
    const first = await follow(mails.toNew.link)
    expect(first.headers.location).toBe(`http://localhost:3000/?${message}#${message}&sb=`)
    const { searchParams } = new URL(String((await follow(mails.toCurrent?.link ?? toNew.link)).headers.location))
    const exchange = { auth_code: searchParams.get('code'), code_verifier: verifier }
    const session = (await secure.post('/token?grant_type=pkce', exchange)).json()
    const claims = JSON.parse(Buffer.from(session.access_token.split('.')[1], 'base64url').toString())
    expect(claims.amr).toEqual([amrEntry('email_change')])
  })
})

describe('PUT /user with an email: simple change', () => {
  it('200: needs only the new address and sends no mail to the current one', async () => {
    const signedIn = await createSignedIn(simple)
    const email = nextEmail()
    const { toNew } = await askForChange(simple, signedIn, email)
    const { body } = await verify(simple, { token_hash: toNew.token })
    expect(body).toEqual(
      sessionBody(
        confirmedBody(signedIn.user.id, email, { confirmation_sent_at: anyTime, user_metadata: { name: 'Ann' } }),
        { type: 'email_change' },
      ),
    )
    await simple.idle()
    const subjects = simple.recipients().filter((address) => address === signedIn.email)
    expect(subjects).toHaveLength(1)
    expect((await simple.readMail(signedIn.email)).mail.subject).toBe('Your email address was changed')
  })

  it('422: refuses an address that was taken meanwhile and changes nothing', async () => {
    const signedIn = await createSignedIn(simple)
    const email = nextEmail()
    const { toNew } = await askForChange(simple, signedIn, email)
    await createSignedUp(simple.deps, { email })
    const taken = 'A user with this email address has already been registered'
    await failToVerify(simple, { token_hash: toNew.token }, [422, 'email_exists', taken])
    expect((await put(simple, {}, signedIn)).body).toEqual(
      signedUpBody(signedIn, { new_email: email, email_change_sent_at: anyTime, last_sign_in_at: anyTime }),
    )
    await failWith(simple, { method: 'PUT', url: '/user', headers: signedIn.headers, payload: { email } }, [
      422,
      'email_exists',
      taken,
    ])
  })

  it('200 and 422: gives an address to one of two users who confirm it in parallel requests', async () => {
    const email = nextEmail()
    const people = [await createSignedIn(simple), await createSignedIn(simple)]
    const tokens: string[] = []
    for (const signedIn of people) {
      tokens.push((await askForChange(simple, signedIn, email)).toNew.token)
      simple.clock.advance(60_000)
    }
    // Use links, because a link identifies its message. A code would be compared with only one message.
    const answers = await Promise.all(tokens.map((token) => verify(simple, { token_hash: token })))
    expect(answers.filter(({ status }) => status !== 200)).toEqual([
      {
        status: 422,
        body: errorBody(422, 'email_exists', 'A user with this email address has already been registered'),
      },
    ])
  })

  it('200: takes over the address of a pending sign-up', async () => {
    const signedIn = await createSignedIn(simple)
    const email = nextEmail()
    await simple.post('/otp', { email })
    await simple.readMail(email)
    const { toNew } = await askForChange(simple, signedIn, email)
    expect(await verify(simple, { token_hash: toNew.token })).toEqual({
      status: 200,
      body: sessionBody(signedUpBody({ user: signedIn.user, email }, { last_sign_in_at: anyTime }), {
        type: 'email_change',
      }),
    })
  })

  it('429: refuses another change within the interval', async () => {
    const signedIn = await createSignedIn(simple)
    await askForChange(simple, signedIn, nextEmail())
    const failure = 'For security purposes, you can only request this after 60 seconds.'
    const request = { method: 'PUT', url: '/user', headers: signedIn.headers, payload: { email: nextEmail() } } as const
    await failWith(simple, request, [429, 'over_email_send_rate_limit', failure])
    simple.clock.advance(60_000)
    await askForChange(simple, signedIn, nextEmail())
  })

  it('429: changes and counts nothing when too few mails are left', async () => {
    const tight = await openBeside(simple, { ...SETTINGS, AUTH_RATE_LIMIT_EMAIL_SENT: '1' })
    const signedIn = await createSignedIn(tight)
    const email = nextEmail()
    const request = {
      method: 'PUT',
      url: '/user',
      headers: signedIn.headers,
      payload: { email, data: { x: 1 } },
    } as const
    await failWith(tight, request, [429, 'over_email_send_rate_limit', 'email rate limit exceeded'])
    expect((await put(tight, {}, signedIn)).body.user_metadata).toEqual({ name: 'Ann' })
    await tight.post('/recover', { email: signedIn.email })
    expect((await tight.readMail(signedIn.email)).mail.subject).toBe('Reset your password')
    await tight.close()
  })
})

describe('PUT /user with a phone', () => {
  it('200: confirms the new number by its code and notifies the user by mail', async () => {
    const signedIn = await createSignedIn(simple, { phone: nextPhone() })
    const phone = nextPhone()
    const { body } = await put(simple, { phone: `+${phone}` }, signedIn)
    expect(body).toEqual({ ...signedIn.record, new_phone: phone, phone_change_sent_at: anyTime, updated_at: anyTime })
    const { code, channel } = await simple.sms.read(phone)
    expect(channel).toBe('sms')
    const wrong = { type: 'phone_change', phone: signedIn.user.phone, token: code }
    await failToVerify(simple, wrong, DEAD_CODE)
    const done = await verify(simple, { type: 'phone_change', phone, token: code })
    expect(done.body).toEqual(
      sessionBody(
        signedUpBody(signedIn, {
          phone,
          phone_confirmed_at: anyTime,
          last_sign_in_at: anyTime,
          app_metadata: { provider: 'email', providers: ['email', 'phone'] },
          identities: [
            emailIdentity(signedIn.user.id, signedIn.email, { email_verified: true }),
            phoneIdentity(signedIn.user.id, phone, { phone_verified: true }),
          ],
        }),
      ),
    )
    const { mail } = await simple.readMail(signedIn.email)
    expect(mail.subject).toBe('Your phone number was changed')
    expect(mail.text).toContain(`from ${signedIn.user.phone} to ${phone}`)
  })

  it('200: sends the code again to the pending number', async () => {
    const signedIn = await createSignedIn(simple)
    const phone = nextPhone()
    await put(simple, { phone }, signedIn)
    await simple.sms.read(phone)
    simple.clock.advance(61_000)
    const again = await simple.post('/resend', { type: 'phone_change', email: signedIn.email })
    expect(statusAndBody(again)).toEqual([200, { message_id: anyId }])
    const second = await simple.sms.read(phone)
    expect(simple.sms.messages.filter(({ to }) => to === phone)).toHaveLength(2)
    expect(second.channel).toBe('sms')
    expect((await verify(simple, { type: 'phone_change', phone, token: second.code })).status).toBe(200)
  })

  it('400: refuses a new phone by an unknown channel', async () => {
    const { headers } = await createSignedIn(simple)
    const payload = { phone: nextPhone(), channel: 'fax' }
    await failWith(simple, { method: 'PUT', url: '/user', headers, payload }, [
      400,
      'validation_failed',
      "Invalid channel, supported values are 'sms' or 'whatsapp'. 'whatsapp' is only supported if Twilio or Twilio Verify is used as the provider.",
    ])
  })

  it('422: refuses a new phone that another user has', async () => {
    const { user } = await createSignedIn(simple, { phone: nextPhone() })
    const { headers } = await createSignedIn(simple)
    const taken = 'A user with this phone number has already been registered'
    const request = { method: 'PUT', url: '/user', headers, payload: { phone: user.phone } } as const
    await failWith(simple, request, [422, 'phone_exists', taken])
  })

  it('429: refuses a second message to a new phone within the interval', async () => {
    const { headers } = await createSignedIn(simple)
    const phone = nextPhone()
    expect((await put(simple, { phone, channel: 'whatsapp' }, { headers })).status).toBe(200)
    expect((await simple.sms.read(phone)).channel).toBe('whatsapp')
    const wait = 'For security purposes, you can only request this after 60 seconds.'
    const again = { method: 'PUT', url: '/user', headers, payload: { phone } } as const
    await failWith(simple, again, [429, 'over_sms_send_rate_limit', wait])
  })

  it('500: fails to send the code of a new phone without a gateway', async () => {
    const none = await openBeside(simple, { ...SETTINGS, AUTH_SMS_PROVIDER: '' })
    const { headers } = await createSignedIn(none)
    const answer = await none.app.inject({ method: 'PUT', url: '/user', headers, payload: { phone: nextPhone() } })
    expect(answer.json()).toEqual(
      errorBody(500, 'unexpected_failure', 'Unable to get SMS provider', { error_id: anyId }),
    )
    await none.close()
  })

  it('200: a change that needs no confirmation counts no message', async () => {
    const auto = await openBeside(simple, {
      ...SETTINGS,
      AUTH_SMS_AUTOCONFIRM: 'true',
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_RATE_LIMIT_EMAIL_SENT: '1',
      AUTH_RATE_LIMIT_SMS_SENT: '0',
    })
    const { access_token: token } = (await auto.post('/signup', {})).json()
    const headers = { authorization: `Bearer ${token}` }
    expect((await put(auto, { email: nextEmail(), phone: nextPhone() }, { headers })).status).toBe(200)
    // This user has an email, so a new email must be confirmed by mail. The limit of mails refuses this mail.
    expect(await put(auto, { email: nextEmail() }, { headers })).toEqual({
      status: 429,
      body: errorBody(429, 'over_email_send_rate_limit', 'email rate limit exceeded'),
    })
    const email = nextEmail()
    const confirmed = await auto.post('/signup', { email, password: 'correct horse' })
    const user = { ...confirmedBody(anyId, email), last_sign_in_at: anyTime }
    expect(statusAndBody(confirmed)).toEqual([200, { ...sessionBody(user), ...user }])
    await auto.close()
  })

  it('200: applies phones, and emails of anonymous users, at once when the settings confirm them', async () => {
    const auto = await openBeside(simple, {
      ...SETTINGS,
      AUTH_SMS_AUTOCONFIRM: 'true',
      AUTH_MAILER_AUTOCONFIRM: 'true',
    })
    const { access_token: token } = (await auto.post('/signup', {})).json()
    const headers = { authorization: `Bearer ${token}` }
    const [email, phone] = [nextEmail(), nextPhone()]
    const { body } = await put(auto, { email, phone, password: 'correct horse' }, { headers })
    const record = userBody({
      email,
      email_confirmed_at: anyTime,
      phone,
      phone_confirmed_at: anyTime,
      confirmed_at: anyTime,
      last_sign_in_at: anyTime,
      app_metadata: { provider: 'email', providers: ['email', 'phone'] },
      identities: [
        emailIdentity(anyId, email, { email_verified: true }),
        phoneIdentity(anyId, phone, { phone_verified: true }),
      ],
    })
    expect(body).toEqual(record)
    const login = await auto.post('/token?grant_type=password', { email, password: 'correct horse' })
    expectSession(login, record)
    // A user with an email must still confirm a new email.
    const other = nextEmail()
    expect((await put(auto, { email: other }, { headers })).body).toEqual(
      userBody({
        id: body.id,
        email,
        email_confirmed_at: anyTime,
        phone,
        phone_confirmed_at: anyTime,
        confirmed_at: anyTime,
        new_email: other,
        email_change_sent_at: anyTime,
        last_sign_in_at: anyTime,
        app_metadata: { provider: 'email', providers: ['email', 'phone'] },
        identities: [
          emailIdentity(body.id, email, { email_verified: true }),
          phoneIdentity(body.id, phone, { phone_verified: true }),
        ],
      }),
    )
    await auto.close()
  })
})
