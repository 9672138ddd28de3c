import { afterAll, describe, expect, it } from 'vitest'
import { anyTime, errorBody, signedUpBody, statusAndBody } from '../../test/bodies.ts'
import { expectSession } from '../../test/expect-user.ts'
import { openMailApp } from '../../test/mail-app.ts'
import { createSignedUp } from '../../test/signed-up.ts'

const main = await openMailApp({ AUTH_RATE_LIMIT_EMAIL_SENT: 'off' })
const { app, deps } = main
const OTP_EXPIRED = { code: 403, error_code: 'otp_expired', msg: 'Token has expired or is invalid' }
const ATTEMPTS_MAX = 10
const ATTEMPTS = Number(process.env.PARALLEL_GUESSES ?? 200)
const CLIENTS = 100

afterAll(() => main.close())

/** Creates a user and sends them a link and a code. */
async function newMail(pkce = {}) {
  const { user, email } = await createSignedUp(deps)
  await main.post('/recover', { email, ...pkce })
  return { user, email, ...(await main.readMail(email)) }
}

/** Opens connections first, so that the first attempts are compared concurrently. */
const openConnections = () =>
  Promise.all(Array.from({ length: 20 }, () => deps.db.selectFrom('users').select('id').limit(1).execute()))
/** @param index of the client, from which its IP address is derived */
const attempt = (email: string, token: string, index: number) =>
  app.inject({
    method: 'POST',
    url: '/verify',
    payload: { type: 'recovery', email, token },
    remoteAddress: `10.0.${index >> 8}.${index & 255}`,
  })
const wrongCodes = (code: string, count: number) =>
  Array.from({ length: count + 1 }, (_, index) => String(index).padStart(6, '0'))
    .filter((wrong) => wrong !== code)
    .slice(0, count)

describe('POST /verify under attack', () => {
  // ASVS 6.6.3
  it('403: compares ten of many parallel attempts and then voids the code', async () => {
    const { user, email, code, token } = await newMail()
    const refusals = new Set<string>()
    const codes = wrongCodes(code, ATTEMPTS)
    const client = async (address: number) => {
      const own = codes.filter((_code, index) => index % CLIENTS === address)
      for (const wrong of own) {
        const { statusCode, body } = await attempt(email, wrong, address)
        refusals.add(`${statusCode} ${body}`)
      }
    }
    await openConnections()
    await Promise.all(Array.from({ length: CLIENTS }, (_, address) => client(address)))
    expect([...refusals].map((answer) => [answer.slice(0, 3), JSON.parse(answer.slice(4))])).toEqual([
      ['403', OTP_EXPIRED],
    ])
    const row = await deps.db
      .selectFrom('one_time_tokens')
      .select('guesses')
      .where('user_id', '=', user.id)
      .executeTakeFirst()
    expect(row).toEqual({ guesses: ATTEMPTS_MAX })
    expect(statusAndBody(await attempt(email, code, CLIENTS))).toEqual([403, OTP_EXPIRED])
    expectSession(
      await main.post('/verify', { type: 'recovery', token_hash: token }),
      signedUpBody({ user, email }, { recovery_sent_at: anyTime }),
      { type: 'recovery' },
    )
  })

  it('403: refuses the right code after twenty failures of one client with one address', async () => {
    const { email, code } = await newMail()
    for (const wrong of wrongCodes(code, 9)) await attempt(email, wrong, 1)
    const renewed = await deps.db.updateTable('one_time_tokens').set({ guesses: 0 }).where('relates_to', '=', email)
    await renewed.execute()
    for (const wrong of wrongCodes(code, 9)) await attempt(email, wrong, 1)
    await renewed.execute()
    for (const wrong of wrongCodes(code, 2)) await attempt(email, wrong, 1)
    expect(statusAndBody(await attempt(email, code, 1))).toEqual([403, OTP_EXPIRED])
    expectSession(await attempt(email, code, 2), signedUpBody({ email }, { recovery_sent_at: anyTime }), {
      type: 'recovery',
    })
  })
})

describe('GET /verify, many at once', () => {
  it('303: parallel uses of a link give one session', async () => {
    const { user, link } = await newMail()
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => app.inject({ method: 'GET', url: `/verify${link.search}` })),
    )
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(10).fill(303))
    const locations = answers.map(({ headers }) => headers.location ?? '')
    expect(locations.filter((location) => location.includes('#access_token='))).toHaveLength(1)
    expect(locations.filter((location) => location.includes('error_code=otp_expired'))).toHaveLength(9)
    const sessions = await deps.db.selectFrom('sessions').select('id').where('user_id', '=', user.id).execute()
    expect(sessions).toHaveLength(1)
  })

  it('303: parallel uses of a link of a PKCE flow give one code', async () => {
    const { link } = await newMail({ code_challenge: 'c'.repeat(43), code_challenge_method: 's256' })
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => app.inject({ method: 'GET', url: `/verify${link.search}` })),
    )
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(10).fill(303))
    expect(answers.filter(({ headers }) => headers.location?.includes('?code='))).toHaveLength(1)
  })
})

describe('POST /verify while its pending sign-up signs up', () => {
  it('200 and 403: gives the address to exactly one of two parallel requests', async () => {
    const outcomes = new Set<string>()
    for (let round = 0; round < 8; round += 1) {
      const email = `staged${round}@example.com`
      await main.post('/magiclink', { email })
      const { token } = await main.readMail(email)
      const signUp = () => main.post('/signup', { email, password: 'correct horse' })
      const verify = () => main.post('/verify', { type: 'magiclink', token_hash: token })
      const [first, second] = round % 2 === 0 ? [signUp, verify] : [verify, signUp]
      const answers = await Promise.all([first(), second()])
      const verified = answers[round % 2 === 0 ? 1 : 0]
      if (verified.statusCode === 403)
        expect(verified.json()).toEqual({ ...OTP_EXPIRED, msg: 'Email link is invalid or has expired' })
      const users = await deps.db.selectFrom('users').selectAll().where('email', '=', email).execute()
      const sessions = await deps.db
        .selectFrom('sessions')
        .select('id')
        .where(
          'user_id',
          'in',
          users.map(({ id }) => id),
        )
        .execute()
      const isConfirmed = users[0]?.email_confirmed_at !== null
      outcomes.add(
        `${verified.statusCode}: ${users.length} user, ${isConfirmed ? 'confirmed' : 'unconfirmed'}, ${sessions.length}`,
      )
    }
    const allowed = ['200: 1 user, confirmed, 1', '403: 1 user, unconfirmed, 0']
    for (const outcome of outcomes) expect(allowed).toContain(outcome)
    // Behind PgBouncer, the queue notices a mail only by polling every two seconds.
  })
})

describe('POST /verify after a change of address', () => {
  // ASVS 6.6.2
  it('403: refuses a message to the former address', async () => {
    const { user, email, code, token } = await newMail()
    await deps.db
      .updateTable('users')
      .set({ email: `new-${email}` })
      .where('id', '=', user.id)
      .execute()
    expect(statusAndBody(await attempt(email, code, 1))).toEqual([403, OTP_EXPIRED])
    expect(statusAndBody(await main.post('/verify', { type: 'recovery', token_hash: token }))).toEqual([
      403,
      errorBody(403, 'otp_expired', 'Email link is invalid or has expired'),
    ])
    const left = await deps.db.selectFrom('sessions').select('id').where('user_id', '=', user.id).execute()
    expect(left).toEqual([])
  })
})
