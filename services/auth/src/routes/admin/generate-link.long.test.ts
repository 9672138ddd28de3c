import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  anyId,
  anyTime,
  confirmedBody,
  emailIdentity,
  errorBody,
  fragmentBody,
  operatorEntry,
  signedUpBody,
  unconfirmedBody,
  userBody,
} from '../../../test/bodies.ts'
import { type Failure, expectFailure as failWith } from '../../../test/expect-failure.ts'
import { expectSession } from '../../../test/expect-user.ts'
import { OPERATOR } from '../../../test/forged-token.ts'
import { type MailApp, openMailApp } from '../../../test/mail-app.ts'
import { createSignedUp } from '../../../test/signed-up.ts'

let test: MailApp
beforeAll(async () => {
  test = await openMailApp({ AUTH_DISABLE_SIGNUP: 'true', AUTH_RATE_LIMIT_EMAIL_SENT: '0', AUTH_DB_NAMESPACE: 'app' })
})
afterAll(() => test.close())

let count = 0
const nextEmail = () => `link${++count}@example.com`
const TAKEN = 'A user with this email address has already been registered'

async function generate(payload: object, query = '', on = test) {
  const answer = await on.post(`/admin/generate_link${query}`, payload, OPERATOR)
  return { status: answer.statusCode, body: answer.json() }
}

const expectFailure = (payload: object, failure: Failure, on = test) =>
  failWith(on, { method: 'POST', url: '/admin/generate_link', headers: OPERATOR, payload }, failure)

/** Follows a link. @returns the target of its redirect, and the fragment */
async function follow(actionLink: string) {
  const { pathname, search } = new URL(actionLink)
  const { headers } = await test.app.inject({ url: pathname + search })
  const { href, hash } = new URL(String(headers.location))
  return [href.slice(0, href.length - hash.length), Object.fromEntries(new URLSearchParams(hash.slice(1)))]
}

/** The redirect target and fragment of a link that signs in. */
function signedIn(type: string) {
  const { provider: _none, ...fragment } = fragmentBody('', { type })
  return ['http://localhost:3000/', fragment]
}

const verify = async (payload: object) => (await test.post('/verify', payload)).json()

const linkOf = (token: string, type: string, redirectTo = 'http://localhost:3000') =>
  `http://localhost:8081/verify?token=${token}&type=${type}&redirect_to=${redirectTo}`

/** The response for a link: the user, the link and its parts. */
function linkBody(type: string, user: object, members: object = {}) {
  return {
    ...user,
    action_link: expect.stringMatching(
      new RegExp(`^http://localhost:8081/verify\\?token=[0-9a-f]{56}&type=${type}&redirect_to=http://localhost:3000$`),
    ),
    email_otp: expect.stringMatching(/^\d{6}$/),
    hashed_token: expect.stringMatching(/^[0-9a-f]{56}$/),
    verification_type: type,
    redirect_to: 'http://localhost:3000',
    token: expect.stringMatching(/^[0-9a-f]{56}$/),
    type,
    ...members,
  }
}

describe('POST /admin/generate_link', () => {
  it('200: signup creates the user and sends no mail', async () => {
    const email = nextEmail()
    const { status, body } = await generate({ type: 'signup', email, password: 'correct horse', data: { a: 1 } })
    const token = body.hashed_token
    expect({ status, body }).toEqual({
      status: 200,
      body: linkBody(
        'signup',
        userBody({
          email,
          confirmation_sent_at: '2026-01-02T03:04:05.678000+00:00',
          user_metadata: { a: 1 },
          identities: [emailIdentity(anyId, email, { a: 1 })],
        }),
        {
          action_link: linkOf(token, 'signup'),
          token,
        },
      ),
    })
    expect(await follow(body.action_link)).toEqual(signedIn('signup'))
    const login = await test.post('/token?grant_type=password', { email, password: 'correct horse' })
    expectSession(
      login,
      confirmedBody(anyId, email, {
        confirmation_sent_at: anyTime,
        user_metadata: { a: 1 },
        identities: [emailIdentity(anyId, email, { a: 1, email_verified: true })],
      }),
    )
    await test.idle()
    expect(test.recipients()).toEqual([])
    const query = test.deps.db.selectFrom('audit_log_entries').select(['actor_id', 'payload'])
    expect(await query.where('target_user_id', '=', body.id).orderBy('id').limit(1).execute()).toEqual([
      {
        actor_id: null,
        payload: operatorEntry({
          action: 'user_confirmation_requested',
          traits: { user_id: body.id, user_email: email, user_phone: '' },
          log_type: 'user',
        }),
      },
    ])
  })

  it('200: signup of an unconfirmed user merges the data, and only the last link works', async () => {
    const email = nextEmail()
    const first = await generate({ type: 'signup', email, password: 'correct horse', data: { a: 1, b: 1 } })
    const second = await generate({ type: 'signup', email, data: { b: null, c: 2 } })
    expect(second.body).toEqual(
      linkBody(
        'signup',
        userBody({
          id: first.body.id,
          email,
          confirmation_sent_at: anyTime,
          user_metadata: { a: 1, c: 2 },
          identities: [emailIdentity(first.body.id, email, { a: 1, b: 1 })],
        }),
      ),
    )
    const dead = await verify({ type: 'signup', token_hash: first.body.hashed_token })
    expect(dead).toEqual(errorBody(403, 'otp_expired', 'Email link is invalid or has expired'))
    const { id } = first.body
    expectSession(
      await test.post('/verify', { type: 'signup', email, token: second.body.email_otp }),
      confirmedBody(id, email, {
        confirmation_sent_at: anyTime,
        user_metadata: { a: 1, c: 2 },
        identities: [emailIdentity(id, email, { a: 1, b: 1, email_verified: true })],
      }),
      { type: 'signup' },
    )
    await expectFailure({ type: 'signup', email, password: 'correct horse' }, [422, 'email_exists', TAKEN])
  })

  it('200: invite creates the user, or invites an unconfirmed user again', async () => {
    const email = nextEmail()
    const { body } = await generate({ type: 'invite', email, data: { a: 1 } })
    expect(body).toEqual(
      linkBody(
        'invite',
        userBody({
          email,
          invited_at: expect.any(String),
          confirmation_sent_at: anyTime,
          user_metadata: { a: 1 },
          identities: [emailIdentity(anyId, email, { a: 1 })],
        }),
      ),
    )
    const again = await generate({ type: 'invite', email })
    const { id } = body
    const identities = (data: object) => ({ identities: [emailIdentity(id, email, { a: 1, ...data })] })
    const invited = { invited_at: anyTime, confirmation_sent_at: anyTime, user_metadata: { a: 1 } }
    expect(again.body).toEqual(linkBody('invite', userBody({ id, email, ...invited, ...identities({}) })))
    expectSession(
      await test.post('/verify', { type: 'invite', token_hash: again.body.hashed_token }),
      confirmedBody(id, email, { ...invited, ...identities({ email_verified: true }) }),
      { type: 'invite' },
    )
    await expectFailure({ type: 'invite', email }, [422, 'email_exists', TAKEN])
  })

  it('200: magiclink and recovery sign a known user in', async () => {
    const { user, email } = await createSignedUp(test.deps)
    const magic = await generate({ type: 'magiclink', email })
    expect(magic).toEqual({
      status: 200,
      body: linkBody('magiclink', signedUpBody({ user, email }, { recovery_sent_at: expect.any(String) })),
    })
    expect(await follow(magic.body.action_link)).toEqual(signedIn('magiclink'))
    const recovery = await generate({ type: 'recovery', email })
    expect(await follow(recovery.body.action_link)).toEqual(signedIn('recovery'))
  })

  it('200: a magic link of an unknown address is a signup', async () => {
    const unknown = nextEmail()
    const signup = await generate({ type: 'magiclink', email: unknown })
    const identities = [emailIdentity(anyId, unknown)]
    const user = userBody({ email: unknown, confirmation_sent_at: anyTime, identities })
    expect(signup).toEqual({ status: 200, body: linkBody('signup', user) })
    expect(await follow(signup.body.action_link)).toEqual(signedIn('signup'))
  })

  it('404: refuses a recovery of an unknown address', async () => {
    await expectFailure({ type: 'recovery', email: nextEmail() }, [
      404,
      'user_not_found',
      'User with this email not found',
    ])
  })

  it('200: changes the email after the links to both addresses are used', async () => {
    const { user, email } = await createSignedUp(test.deps)
    const new_email = nextEmail()
    const current = await generate({ type: 'email_change_current', email, new_email })
    expect(current).toEqual({
      status: 200,
      body: linkBody(
        'email_change_current',
        signedUpBody({ user, email }, { new_email, email_change_sent_at: expect.any(String) }),
        { action_link: linkOf(current.body.token, 'email_change'), type: 'email_change' },
      ),
    })
    const next = await generate({ type: 'email_change_new', email, new_email })
    expect(await follow(current.body.action_link)).toEqual([
      'http://localhost:3000/',
      { message: 'Confirmation link accepted. Please proceed to confirm link sent to the other email', sb: '' },
    ])
    const done = await verify({ type: 'email_change', email: new_email, token: next.body.email_otp })
    expect(done.user).toEqual(
      confirmedBody(user.id, new_email, {
        confirmation_sent_at: anyTime,
        last_sign_in_at: anyTime,
        user_metadata: { name: 'Ann' },
      }),
    )
  })

  it('200: a link that confirms one change of email confirms no other change', async () => {
    const { email } = await createSignedUp(test.deps)
    const current = await generate({ type: 'email_change_current', email, new_email: nextEmail() })
    const other = await generate({ type: 'email_change_new', email, new_email: nextEmail() })
    expect([current.status, other.status]).toEqual([200, 200])
    const voided = await verify({ type: 'email_change', token_hash: current.body.token })
    expect(voided).toEqual(errorBody(403, 'otp_expired', 'Email link is invalid or has expired'))
    const half = await verify({ type: 'email_change', token_hash: other.body.token })
    expect(half).toEqual({
      code: '200',
      msg: 'Confirmation link accepted. Please proceed to confirm link sent to the other email',
    })
  })

  it('200: takes redirect_to from the body or the query when it is permitted', async () => {
    const { user, email } = await createSignedUp(test.deps)
    const known = signedUpBody({ user, email }, { recovery_sent_at: anyTime })
    const wanted = 'http://localhost:3000/welcome'
    for (const [body, query] of [
      [{ redirect_to: wanted }, ''],
      [{}, `?redirect_to=${encodeURIComponent(wanted)}`],
    ] as const) {
      const answer = await generate({ type: 'magiclink', email, ...body }, query)
      const action_link = linkOf(answer.body.token, 'magiclink', wanted)
      const expected = linkBody('magiclink', known, { redirect_to: wanted, action_link })
      expect(answer).toEqual({ status: 200, body: expected })
    }
    const refused = await generate({ type: 'magiclink', email, redirect_to: 'https://evil.example' })
    const action_link = linkOf(refused.body.token, 'magiclink')
    expect(refused).toEqual({ status: 200, body: linkBody('magiclink', known, { action_link }) })
  })

  it('200: parallel signups of one address create one user', async () => {
    const email = nextEmail()
    const answers = await Promise.all(Array.from({ length: 6 }, () => generate({ type: 'magiclink', email })))
    const made = unconfirmedBody(email, { id: answers[0]?.body.id })
    // One request signs the user up. The others return sign-up links for the unconfirmed user, or magic links.
    for (const { status, body } of answers) {
      expect([status, body]).toEqual([200, linkBody(body.type, { ...made, recovery_sent_at: body.recovery_sent_at })])
    }
  })

  it.each([
    [{}, 'Invalid email action link type requested: '],
    [{ type: 'sms', email: 'a@b.c' }, 'Invalid email action link type requested: sms'],
    [{ type: 'signup' }, 'An email address is required'],
    [{ type: 'signup', email: 'x' }, 'Unable to validate email address: invalid format'],
    [{ type: 'signup', email: 'nobody@b.c' }, 'Signup requires a valid password'],
    [{ type: 'email_change_new', email: 'a@b.c' }, 'An email address is required'],
  ])('400: refuses %j', async (payload, text) => {
    await expectFailure(payload, [400, 'validation_failed', text])
  })

  it('422: refuses a weak password', async () => {
    await expectFailure({ type: 'signup', email: nextEmail(), password: 'short' }, [
      422,
      'weak_password',
      'Password should be at least 6 characters.',
      { weak_password: { reasons: ['length'] } },
    ])
  })

  it('422: refuses a change to an address that somebody has', async () => {
    const [one, two] = [await createSignedUp(test.deps), await createSignedUp(test.deps)]
    const change = { type: 'email_change_new', email: one.email, new_email: two.email }
    await expectFailure(change, [422, 'email_exists', TAKEN])
    // The current address of the user counts as taken.
    for (const type of ['email_change_current', 'email_change_new']) {
      await expectFailure({ type, email: one.email, new_email: one.email.toUpperCase() }, [422, 'email_exists', TAKEN])
    }
  })

  it('400: refuses a link for the current address where changes of email do not need it', async () => {
    const simple = await openMailApp({ AUTH_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false' })
    const { user, email } = await createSignedUp(simple.deps)
    const text = 'Enable secure email change to generate link for current email'
    const current = { type: 'email_change_current', email, new_email: nextEmail() }
    await expectFailure(current, [400, 'validation_failed', text], simple)
    const { body } = await generate({ ...current, type: 'email_change_new' }, '', simple)
    const verified = await simple.post('/verify', { type: 'email_change', token_hash: body.hashed_token })
    expectSession(verified, signedUpBody({ user, email: current.new_email }, { last_sign_in_at: anyTime }), {
      type: 'email_change',
    })
    await simple.close()
  })
})
