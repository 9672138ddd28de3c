import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { errorBody, outcomeOf, statusAndBody, unknownRefreshToken, wrongPassword } from './bodies.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openMailApp } from './mail-app.ts'

// Tests an attack: a stranger uses an address before its owner does.
const STRANGE = { org_id: 'attacker-org' }
const OWN = { name: 'Ann' }
const STRANGERS_PASSWORD = 'the password of a stranger'
const OWN_PASSWORD = 'the password of its owner'
let people = 0

describe.each(['compatible', 'strict'])('an address that a stranger has used first, AUTH_PROFILE=%s', (profile) => {
  const isStrict = profile === 'strict'
  let service: MailApp
  let email: string
  let phone: string
  beforeAll(async () => {
    service = await openMailApp({
      AUTH_PROFILE: profile,
      AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
      AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
      AUTH_RATE_LIMIT_SMS_SENT: 'off',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
      AUTH_JWT_ALLOWED_AUDIENCES: 'mobile',
      AUTH_SMS_OTP_EXP: '600',
      AUTH_SMTP_MAX_FREQUENCY: '60',
    })
  })
  afterAll(() => service.close())
  beforeEach(() => {
    people += 1
    email = `early${people}@example.com`
    phone = `1415666${1000 + people}`
  })

  const strangeSignUp = () => service.post('/signup', { email, password: STRANGERS_PASSWORD, data: STRANGE })
  const ownSignUp = (headers = {}) => service.post('/signup', { email, password: OWN_PASSWORD, data: OWN }, headers)
  const tryPassword = async (payload: object) => outcomeOf(await service.post('/token?grant_type=password', payload))
  const wait = () => service.clock.advance(60_000)

  async function verify(payload: object) {
    const answer = await service.post('/verify', payload)
    expect(outcomeOf(answer)).toBe(200)
    return answer.json().user
  }
  const confirm = async (type: string, code: string) => verify({ type, email, token: code })

  /** Expects that the account contains no data of the stranger. */
  async function expectOwn(user: { user_metadata: object; identities: { identity_data: object }[] }, data: object) {
    expect(user.user_metadata).toEqual(data)
    for (const { identity_data } of user.identities) expect(identity_data).not.toHaveProperty('org_id')
    expect(await tryPassword({ email, password: STRANGERS_PASSWORD })).toEqual(wrongPassword)
  }

  it('200: a signup of the owner brings their own password and metadata', async () => {
    await strangeSignUp()
    const strange = await service.readMail(email)
    wait()
    expect((await ownSignUp()).json().user_metadata).toEqual(OWN)
    const { code } = await service.readMail(email)
    expect(statusAndBody(await service.post('/verify', { type: 'signup', token_hash: strange.token }))).toEqual([
      403,
      errorBody(403, 'otp_expired', 'Email link is invalid or has expired'),
    ])
    const user = await confirm('signup', code)
    await expectOwn(user, OWN)
    expect(user.identities[0].identity_data).toEqual({
      ...OWN,
      sub: user.id,
      email,
      email_verified: true,
      phone_verified: false,
    })
    // In the strict profile, the password is sent with the code or set afterwards.
    expect(await tryPassword({ email, password: OWN_PASSWORD })).toEqual(isStrict ? wrongPassword : 200)
  })

  it('200: a confirmation removes the account of a stranger at a provider that has verified no address', async () => {
    const user_id = (await strangeSignUp()).json().id
    const identity_data = { sub: user_id, email, ...STRANGE }
    const at = service.clock.now()
    const identity = {
      user_id,
      provider: 'discord',
      provider_id: user_id,
      identity_data,
      created_at: at,
      updated_at: at,
    }
    await service.deps.db.insertInto('identities').values(identity).execute()
    await service.readMail(email)
    wait()
    await ownSignUp()
    const user = await confirm('signup', (await service.readMail(email)).code)
    await expectOwn(user, OWN)
    expect(user.app_metadata).toEqual({ provider: 'email', providers: ['email'] })
  })

  it('200: a confirmation that is sent again brings the password and metadata of the owner too, also after earlier messages were removed', async () => {
    await strangeSignUp()
    await service.readMail(email)
    wait()
    await ownSignUp()
    await service.readMail(email)
    await service.deps.db.deleteFrom('one_time_tokens').where('relates_to', '=', email).execute()
    wait()
    await service.post('/resend', { type: 'signup', email })
    await expectOwn(await confirm('signup', (await service.readMail(email)).code), OWN)
  })

  it.each([
    ['/otp', 'magiclink'],
    ['/magiclink', 'magiclink'],
    ['/otp', 'email'],
    ['/recover', 'recovery'],
  ])('200: a message of POST %s, as %s, removes everything of an earlier signup', async (path, type) => {
    await strangeSignUp()
    await service.readMail(email)
    const data = path === '/recover' ? {} : OWN
    await service.post(path, { email, ...(path === '/recover' ? {} : { data }) })
    await expectOwn(await confirm(type, (await service.readMail(email)).code), data)
  })

  it('200: a message removes everything of an earlier request for a code', async () => {
    await service.post('/otp', { email, data: STRANGE })
    await service.readMail(email)
    wait()
    await service.post('/otp', { email })
    await expectOwn(await confirm('email', (await service.readMail(email)).code), {})
  })

  it('200: a first code that is sent again brings the metadata of its request', async () => {
    await service.post('/otp', { email, data: OWN })
    await service.readMail(email)
    wait()
    await service.post('/resend', { type: 'signup', email })
    await expectOwn(await confirm('email', (await service.readMail(email)).code), OWN)
  })

  it.each(['email', 'magiclink'])(
    "200: a sign-up of a stranger leaves the owner's first code, type %s",
    async (type) => {
      await service.post('/otp', { email, data: OWN })
      const own = await service.readMail(email)
      expect(outcomeOf(await strangeSignUp())).toBe(200)
      await expectOwn(await confirm(type, own.code), OWN)
    },
  )

  it("200: a sign-up of a stranger leaves the link of the owner's first mail", async () => {
    await service.post('/otp', { email, data: OWN })
    const own = await service.readMail(email)
    expect(outcomeOf(await strangeSignUp())).toBe(200)
    await expectOwn(await verify({ type: 'signup', token_hash: own.token }), OWN)
  })

  it("200: later requests of a stranger change nothing in the owner's message", async () => {
    await ownSignUp()
    const own = await service.readMail(email)
    await service.post('/otp', { email, data: STRANGE })
    await service.readMail(email)
    await service.post('/signup', { email, password: STRANGERS_PASSWORD, data: STRANGE })
    await expectOwn(await confirm('signup', own.code), OWN)
    expect(await tryPassword({ email, password: OWN_PASSWORD })).toEqual(isStrict ? wrongPassword : 200)
    // The first confirmation removes the data of other messages.
    wait()
    await service.post('/magiclink', { email, data: STRANGE })
    await expectOwn(await confirm('magiclink', (await service.readMail(email)).code), OWN)
  })

  it('200: an invitation brings the metadata of its admin, although a stranger signs up afterwards', async () => {
    await strangeSignUp()
    await service.readMail(email)
    await service.post('/invite', { email, data: OWN }, OPERATOR)
    await service.readMail(email)
    wait()
    await strangeSignUp()
    await expectOwn(await confirm('email', (await service.readMail(email)).code), OWN)
  })

  describe('an anonymous user asks for the address of somebody else', () => {
    const bearer = (token: unknown) => ({ authorization: `Bearer ${token}` })
    const put = async (headers: { authorization: string }, payload: object) =>
      expect(outcomeOf(await service.app.inject({ method: 'PUT', url: '/user', headers, payload }))).toBe(200)
    const start = async (payload: object, to: 'email' | 'phone') => {
      const { access_token, refresh_token } = (await service.post('/signup', {})).json()
      await put(bearer(access_token), payload)
      const { code } = to === 'email' ? await service.readMail(email) : await service.sms.read(phone)
      return { code, refresh_token }
    }
    const refresh = async (refresh_token: unknown) =>
      outcomeOf(await service.post('/token?grant_type=refresh_token', { refresh_token }))

    it.each(['email', 'phone'] as const)(
      '200: the owner of the %s gets the account without the session and the password of the stranger',
      async (kind) => {
        const address = kind === 'email' ? { email } : { phone }
        const { code, refresh_token } = await start({ ...address, password: STRANGERS_PASSWORD }, kind)
        const user = await verify({ type: `${kind}_change`, ...address, token: code })
        expect([user.is_anonymous, user[kind]]).toEqual([false, address[kind]])
        expect(await refresh(refresh_token)).toEqual(unknownRefreshToken)
        expect(await tryPassword({ ...address, password: STRANGERS_PASSWORD })).toEqual(wrongPassword)
      },
    )

    it('200: the stranger keeps nothing either where the address was asked for after the password', async () => {
      const first = { email: `first-${email}`, password: STRANGERS_PASSWORD }
      const { access_token, refresh_token } = (await service.post('/signup', {})).json()
      await put(bearer(access_token), first)
      wait()
      await put(bearer(access_token), { email })
      await verify({ type: 'email_change', email, token: (await service.readMail(email)).code })
      expect(await refresh(refresh_token)).toEqual(unknownRefreshToken)
      expect(await tryPassword({ email, password: STRANGERS_PASSWORD })).toEqual(wrongPassword)
    })

    it('200: a password that comes with the confirmation is that of the owner', async () => {
      const { code } = await start({ email, password: STRANGERS_PASSWORD }, 'email')
      await verify({ type: 'email_change', email, token: code, password: OWN_PASSWORD })
      expect(await tryPassword({ email, password: OWN_PASSWORD })).toBe(200)
      expect(await tryPassword({ email, password: STRANGERS_PASSWORD })).toEqual(wrongPassword)
    })
  })

  it.each(['signup', 'magiclink', 'recovery'])(
    '200: a link of POST /admin/generate_link brings the metadata of its admin, %s',
    async (type) => {
      await strangeSignUp()
      await service.readMail(email)
      const payload = { type, email, ...(type === 'signup' ? { password: OWN_PASSWORD, data: OWN } : {}) }
      const link = (await service.post('/admin/generate_link', payload, OPERATOR)).json()
      await expectOwn(await verify({ type, token_hash: link.hashed_token }), type === 'signup' ? OWN : {})
    },
  )

  it('200: a signup of the owner by phone brings their own password and metadata', async () => {
    await service.post('/signup', { phone, password: STRANGERS_PASSWORD, data: STRANGE })
    await service.sms.read(phone)
    wait()
    await service.post('/signup', { phone, password: OWN_PASSWORD, data: OWN })
    const { code } = await service.sms.read(phone)
    const user = await verify({ type: 'sms', phone, token: code })
    expect(user.user_metadata).toEqual(OWN)
    expect(await tryPassword({ phone, password: STRANGERS_PASSWORD })).toEqual(wrongPassword)
    expect(await tryPassword({ phone, password: OWN_PASSWORD })).toEqual(isStrict ? wrongPassword : 200)
  })

  it.each(['nobody', 'a user who has not confirmed'])(
    "200: a sign-up of a stranger leaves the owner's code by SMS, to the phone of %s",
    async (holder) => {
      if (holder !== 'nobody') {
        await service.post('/signup', { phone, password: OWN_PASSWORD, data: STRANGE })
        await service.sms.read(phone)
      }
      wait()
      await service.post('/otp', { phone, data: OWN })
      const { code } = await service.sms.read(phone)
      const strange = { phone, password: STRANGERS_PASSWORD, data: STRANGE }
      expect(outcomeOf(await service.post('/signup', strange))).toBe(200)
      expect((await verify({ type: 'sms', phone, token: code })).user_metadata).toEqual(OWN)
      expect(await tryPassword({ phone, password: STRANGERS_PASSWORD })).toEqual(wrongPassword)
    },
  )

  it.each(['/signup', '/otp'])(
    '200: POST %s takes back an address that is pending in another audience',
    async (path) => {
      await service.post('/signup', { email, password: STRANGERS_PASSWORD, data: STRANGE }, { 'x-jwt-aud': 'mobile' })
      await service.readMail(email)
      // Wait, because a request of another audience replaces nothing within the interval of the last message.
      service.clock.advance(900_000)
      await (path === '/signup' ? ownSignUp() : service.post('/otp', { email, data: OWN }))
      const user = await confirm('email', (await service.readMail(email)).code)
      expect(user.aud).toBe('authenticated')
      await expectOwn(user, OWN)
    },
  )
})
