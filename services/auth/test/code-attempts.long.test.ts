import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { hashAttemptKey } from '../src/one-time-tokens/one-time-token-repository.ts'
import { addApp, answerChallenge } from './authenticator-app.ts'
import { anyId, anyTime, confirmedBody, errorBody, factorBody, sessionBody, signedUpBody } from './bodies.ts'
import { openMailApp } from './mail-app.ts'
import { createSignedIn, signIn } from './signed-in.ts'
import { createSignedUp, type SignedUp } from './signed-up.ts'

const main = await openMailApp({
  AUTH_TRUSTED_PROXIES: '1',
  AUTH_EXTERNAL_PHONE_ENABLED: 'true',
  AUTH_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false',
  AUTH_SMTP_MAX_FREQUENCY: '0',
  AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
  AUTH_RATE_LIMIT_SMS_SENT: 'off',
  AUTH_RATE_LIMIT_VERIFY: 'off',
  AUTH_RATE_LIMIT_OTP: 'off',
  AUTH_RATE_LIMIT_TOKEN_REFRESH: 'off',
  AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: 'off',
})
const { app, clock, deps } = main
afterAll(() => main.close())

const MINUTE_MS = 60_000
/** For tests with ten or more mails. Behind PgBouncer, the queue finds mails only by polling every two seconds. */
const POLLED_MAILS_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const HOME = '198.51.100.7'
let clients = 0
/** An address that no request has used yet. */
function stranger(): string {
  clients += 1
  return `10.0.${clients >> 8}.${clients & 255}`
}
const from = (address: string) => ({ 'x-forwarded-for': address })
const EXPIRED = errorBody(403, 'otp_expired', 'Token has expired or is invalid')
const wrongFor = (code: string) => (code === '000000' ? '000001' : '000000')

beforeEach(() => {
  // Each test starts with full limits.
  clock.advance(DAY_MS)
})

describe('attempts at the codes of an address', () => {
  const verify = (email: string, token: string, address = stranger()) =>
    main.post('/verify', { type: 'recovery', email, token }, from(address))
  const recovered = (signedUp: SignedUp) =>
    sessionBody(signedUpBody(signedUp, { recovery_sent_at: anyTime }), { type: 'recovery' })
  const recover = async (email: string) => {
    await main.post('/recover', { email })
    return main.readMail(email)
  }
  /** Uses all attempts of a day: ten for each of ten messages, each from another address. */
  async function attemptAll(email: string): Promise<void> {
    for (let message = 0; message < 10; message += 1) {
      const { code } = await recover(email)
      for (let attempt = 0; attempt < 10; attempt += 1) await verify(email, wrongFor(code))
    }
  }

  /** Stores additional attempts at the codes of an address, with the current time. */
  async function addAttempts(identifier: string, guesses: number): Promise<void> {
    const key_hash = hashAttemptKey(deps.serverKeys.hmac, { identifier, kinds: ['recovery'] })
    await deps.db
      .insertInto('code_guesses')
      .values({ key_hash, guesses, since: clock.now() })
      .onConflict((conflict) =>
        conflict.column('key_hash').doUpdateSet({ guesses: sql`code_guesses.guesses + excluded.guesses` }),
      )
      .execute()
  }

  // ASVS 6.6.3
  it(
    'are limited to a hundred per day for all messages, and links still work',
    async () => {
      const signedUp = await createSignedUp(deps)
      const { email } = signedUp
      await attemptAll(email)
      const { code, token } = await recover(email)
      expect((await verify(email, code)).json()).toEqual(EXPIRED)
      expect((await main.post('/verify', { type: 'recovery', token_hash: token })).json()).toEqual(recovered(signedUp))
      clock.advance(DAY_MS)
      expect((await verify(email, (await recover(email)).code)).json()).toEqual(recovered(signedUp))
    },
    POLLED_MAILS_MS,
  )

  it('by strangers do not lock out the owner at the address of a live session', async () => {
    const signedUp = await createSignedUp(deps)
    const { email, password } = signedUp
    await main.post('/token?grant_type=password', { email, password }, from(HOME))
    await addAttempts(email, 100)
    const { code } = await recover(email)
    expect((await verify(email, code)).json()).toEqual(EXPIRED)
    expect((await verify(email, code, HOME)).json()).toEqual(recovered(signedUp))
    // A correct code resets the limit.
    expect((await verify(email, (await recover(email)).code)).json()).toEqual(recovered(signedUp))
  })

  it('are limited to one per 15 minutes after a hundred, also for a user with only a phone', async () => {
    const phone = '14155550123'
    const { user } = await createSignedUp(deps, { phone, phone_confirmed_at: new Date(0) })
    const askFor = async () => {
      clock.advance(MINUTE_MS)
      await main.post('/otp', { phone, create_user: false })
      return (await main.sms.read(phone)).code
    }
    const enter = (token: string) => main.post('/verify', { type: 'sms', phone, token }, from(stranger()))
    const first = await askFor()
    for (let attempt = 0; attempt < 10; attempt += 1) await enter(wrongFor(first))
    await addAttempts(phone, 90)
    expect((await enter(await askFor())).json()).toEqual(EXPIRED)
    clock.advance(13 * MINUTE_MS)
    const code = await askFor()
    expect((await enter(wrongFor(code))).json()).toEqual(EXPIRED)
    expect((await enter(code)).json()).toEqual(EXPIRED)
    clock.advance(14 * MINUTE_MS)
    expect((await enter(await askFor())).json()).toEqual(
      sessionBody(signedUpBody({ user, email: user.email }, { phone, phone_confirmed_at: anyTime })),
    )
  })

  describe('by a stranger from one address', () => {
    let phone: string
    let owner: SignedUp
    let owners = 0
    beforeEach(async () => {
      owners += 1
      phone = `1415555017${owners}`
      owner = await createSignedUp(deps, { phone, phone_confirmed_at: new Date(0) })
    })
    const signedIn = () => sessionBody(signedUpBody(owner, { phone, phone_confirmed_at: anyTime }))
    const enter = (token: string, address: string) => main.post('/verify', { type: 'sms', phone, token }, from(address))
    const askFor = async () => {
      clock.advance(MINUTE_MS)
      await main.post('/otp', { phone, create_user: false })
      return (await main.sms.read(phone)).code
    }
    /** Makes a hundred attempts. Each address makes three, after which its network gets no more attempts. */
    const attemptFrom = async (addresses: readonly string[]) => {
      for (const address of addresses) {
        const code = await askFor()
        for (let attempt = 0; attempt < 3; attempt += 1) await enter(wrongFor(code), address)
      }
      await addAttempts(phone, 100 - 3 * addresses.length)
    }
    const countAttempts = async () => {
      const rows = await deps.db
        .selectFrom('code_guesses')
        .select('guesses')
        .where('since', '=', sql<string>`${clock.now()}`)
        .execute()
      return rows.map(({ guesses }) => guesses)
    }

    it('no longer count against the owner once the address is blocked', async () => {
      const attacker = stranger()
      // Failed passwords block the address, so attempts at codes from it are not counted.
      for (let attempt = 0; attempt < 20; attempt += 1) {
        await main.post('/token?grant_type=password', { phone, password: 'wrong' }, from(attacker))
      }
      const code = await askFor()
      for (let attempt = 0; attempt < 10; attempt += 1) await enter(wrongFor(code), attacker)
      expect(await countAttempts()).toEqual([])
      expect((await enter(code, attacker)).json()).toEqual(EXPIRED)
      expect((await enter(code, stranger())).json()).toEqual(signedIn())
    })

    it('leave the owner one attempt per 15 minutes after a hundred', async () => {
      const attackers = Array.from({ length: 10 }, stranger)
      await attemptFrom(attackers)
      clock.advance(14 * MINUTE_MS)
      const code = await askFor()
      for (const attacker of attackers) expect((await enter(code, attacker)).json()).toEqual(EXPIRED)
      expect((await enter(code, stranger())).json()).toEqual(signedIn())
    })

    it('leave the owner that attempt when the attacker has every network of a site', async () => {
      const networks = Array.from({ length: 12 }, (_, at) => `2001:db8:77:${at}::1`)
      await attemptFrom(networks.slice(0, 10))
      clock.advance(14 * MINUTE_MS)
      const code = await askFor()
      for (const network of networks) expect((await enter(code, network)).json()).toEqual(EXPIRED)
      expect((await enter(code, '2001:db8:78::1')).json()).toEqual(signedIn())
    })
  })

  it('in parallel use up no more than the message has', async () => {
    const signedUp = await createSignedUp(deps)
    const { email } = signedUp
    const { code } = await recover(email)
    await Promise.all(Array.from({ length: 200 }, () => verify(email, wrongFor(code))))
    expect((await verify(email, (await recover(email)).code)).json()).toEqual(recovered(signedUp))
  })

  it('are compared with the code of one account when several want the address', async () => {
    const email = 'wanted@example.com'
    const codes: string[] = []
    for (let account = 0; account < 5; account += 1) {
      clock.advance(1_000)
      const { headers } = await createSignedIn(main)
      await app.inject({ method: 'PUT', url: '/user', headers, payload: { email } })
      codes.push((await main.readMail(email)).code)
    }
    const guesses = () =>
      deps.db
        .selectFrom('one_time_tokens')
        .select('guesses')
        .where('relates_to', '=', email)
        .orderBy('sent_at')
        .execute()
    const attempt = (token: string) => main.post('/verify', { type: 'email_change', email, token }, from(stranger()))
    const wrong = ['000000', '000001', '000002', '000003', '000004', '000005'].find((code) => !codes.includes(code))
    expect((await attempt(wrong ?? '')).json()).toEqual(EXPIRED)
    const counts = (await guesses()).map((row) => row.guesses)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1)
    expect((await attempt(codes.at(0) ?? '')).json()).toEqual(EXPIRED)
    expect((await attempt(codes.at(-1) ?? '')).json()).toEqual(
      sessionBody(confirmedBody(anyId, email, { confirmation_sent_at: anyTime, user_metadata: { name: 'Ann' } }), {
        type: 'email_change',
      }),
    )
  })

  it('are compared with the code of the owner when others want the address', async () => {
    const owner = await createSignedUp(deps)
    const { code } = await recover(owner.email)
    const other = await createSignedUp(deps)
    const token = {
      user_id: other.user.id,
      kind: 'recovery',
      relates_to: owner.email,
      otp_hash: Buffer.alloc(32),
      otp_salt: Buffer.alloc(16),
      sent_at: new Date(clock.now().getTime() + MINUTE_MS),
      expires_at: new Date(clock.now().getTime() + DAY_MS),
    }
    await deps.db.insertInto('one_time_tokens').values(token).execute()
    expect((await verify(owner.email, code)).json()).toEqual(recovered(owner))
  })

  it('are counted by a keyed hash of the address, which clean-up removes', async () => {
    const { email } = await createSignedUp(deps)
    await verify(email, wrongFor((await recover(email)).code))
    const rows = await deps.db.selectFrom('code_guesses').selectAll().execute()
    expect(rows.every(({ key_hash }) => key_hash.length === 32)).toBe(true)
    // This address has no code, so no attempt is stored.
    const count = rows.length
    await verify('nobody@example.com', '000000')
    expect(await deps.db.selectFrom('code_guesses').selectAll().execute()).toHaveLength(count)
  })
})

describe('attempts at a second factor', () => {
  /** A user with an app, signed in at home. A stranger knows the password. */
  async function createTarget() {
    const signedIn = await createSignedIn(main)
    const steppedUp = await addApp(main, signedIn.headers)
    await deps.db
      .updateTable('sessions')
      .set({ last_ip: HOME })
      .where('user_id', '=', signedIn.user.id)
      .where('aal', '=', 'aal2')
      .execute()
    return { signedIn, app: steppedUp.app }
  }
  const failuresOf = (id: string) =>
    deps.db.selectFrom('mfa_factors').select('guesses').where('id', '=', id).executeTakeFirstOrThrow()
  const setFailures = (id: string, failures: number) =>
    deps.db
      .updateTable('mfa_factors')
      .set({ guesses: failures, guessed_at: clock.now() })
      .where('id', '=', id)
      .execute()

  async function answer(
    target: Awaited<ReturnType<typeof createTarget>>,
    address: string,
    code: string = target.app.code(),
  ) {
    const { headers } = await signIn(main, target.signedIn)
    const { factorId } = target.app
    const answered = await answerChallenge(main, { ...headers, ...from(address) }, { factorId, code })
    return answered.json()
  }
  const REFUSED = errorBody(422, 'mfa_verification_failed', 'Invalid TOTP code entered')
  const steppedUp = ({ signedIn, app }: Awaited<ReturnType<typeof createTarget>>) => {
    const factor = factorBody({ id: app.factorId, last_challenged_at: anyTime })
    return sessionBody(signedUpBody(signedIn, { factors: [factor] }))
  }

  // ASVS 6.6.3
  it('are limited to one per 15 minutes after a hundred failures, and to fewer later', async () => {
    const target = await createTarget()
    const { factorId, code } = target.app
    clock.advance(MINUTE_MS)
    expect(await answer(target, stranger(), wrongFor(code()))).toEqual(REFUSED)
    expect(await failuresOf(factorId)).toEqual({ guesses: 1 })
    for (const [failures, minutes] of [
      [100, 15],
      [115, 30],
      [160, 960],
      [9_999, 1_440],
    ] as const) {
      await setFailures(factorId, failures)
      clock.advance(minutes * MINUTE_MS - 1)
      expect(await answer(target, stranger())).toEqual(REFUSED)
      // Rejected attempts are not counted. Otherwise they could block the owner for ever.
      expect(await failuresOf(factorId)).toEqual({ guesses: failures })
      clock.advance(1)
      expect(await answer(target, stranger())).toEqual(steppedUp(target))
      expect(await failuresOf(factorId)).toEqual({ guesses: failures - 20 })
    }
  })

  it('by strangers do not block the owner at the address of a session of aal2', async () => {
    const target = await createTarget()
    clock.advance(MINUTE_MS)
    await setFailures(target.app.factorId, 150)
    expect(await answer(target, stranger())).toEqual(REFUSED)
    expect(await answer(target, HOME)).toEqual(steppedUp(target))
    expect(await failuresOf(target.app.factorId)).toEqual({ guesses: 130 })
  })

  it('are not limited below a hundred failures', async () => {
    const target = await createTarget()
    clock.advance(MINUTE_MS)
    await setFailures(target.app.factorId, 99)
    expect(await answer(target, stranger())).toEqual(steppedUp(target))
  })
})
