import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { createAuthenticator } from '@trestle/testing/software-authenticator.ts'
import type { LightMyRequestResponse } from 'fastify'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPasswordHasher } from '../src/passwords/password-hasher.ts'
import { addApp } from './authenticator-app.ts'
import { errorBody, outcomeOf, statusAndBody } from './bodies.ts'
import { type AnybodyStub, beginLinking, comeBackAs, startAnybodyProvider } from './external/anybody-provider.ts'
import { OPERATOR } from './forged-token.ts'
import { type MailApp, openMailApp } from './mail-app.ts'
import { createOperator, OPERATOR_SETTINGS, operate, type SignedInOperator } from './operators.ts'
import { paths } from './passkey-app.ts'
import { runRemembered } from './remembered-hashes.ts'
import { createSignedIn, type SignedIn, signIn } from './signed-in.ts'

type Headers = SignedIn['headers']
/** A user with two sessions. The work starts in `here`. */
interface Owner {
  readonly here: SignedIn
  readonly there: SignedIn
}
/** The user's state after an event: a new session or one that is still at aal2, and the password. */
interface After {
  readonly headers?: Headers
  readonly password?: string
}
/** Finishes started work in a session that exists after the event. */
type Finish = (headers: Headers) => Promise<'ends' | 'stays' | unknown>

const NEW_PASSWORD = 'a staple of batteries'
const OLD_TOKEN = 'refresh_token_already_used'
let count = 0

/** Runs a limited number of tasks in parallel, because the service refuses long waits. @returns their results, in order */
async function runInPools<Result>(tasks: readonly (() => Promise<Result>)[]): Promise<Result[]> {
  const left = [...tasks.entries()]
  const results: Result[] = []
  const runPool = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) results[next[0]] = await next[1]()
  }
  await Promise.all(Array.from({ length: 4 }, runPool))
  return results
}

/** The table's cells, by event and kind of work. */
const reference = readFileSync(new URL('../../../docs/reference/auth.md', import.meta.url), 'utf8')
const section = reference.split('### Work of sessions\n')[1]?.split('\n## ')[0] ?? ''
const rows = section
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
const [[, ...kindNames] = [], , ...eventRows] = [rows[0] ?? [], rows[1], ...rows.slice(1)]
const table = Object.fromEntries(
  eventRows.map(([event = '', ...cells]) => [
    event,
    Object.fromEntries(cells.map((cell, index) => [kindNames[index] ?? '', cell])),
  ]),
)

/** Returns `stays` for a success, `ends` for a refusal of ended work, and otherwise the answer itself. */
function judge(answer: LightMyRequestResponse, ...refusals: readonly (readonly [number, object])[]): unknown {
  const outcome = outcomeOf(answer)
  if (outcome === 200) return 'stays'
  return refusals.some((refusal) => JSON.stringify(refusal) === JSON.stringify(outcome)) ? 'ends' : outcome
}

const EXPIRED_CODE = [403, errorBody(403, 'otp_expired', 'Token has expired or is invalid')] as const
const NO_FACTOR = [404, errorBody(404, 'mfa_factor_not_found', 'Factor not found')] as const
const EXPIRED_LINK = [403, errorBody(403, 'otp_expired', 'Email link is invalid or has expired')] as const

describe.each(['compatible', 'supabase'])('what a session has started, AUTH_PROFILE=%s', (profile) => {
  let provider: AnybodyStub
  let service: MailApp
  let operator: SignedInOperator
  beforeAll(async () => {
    provider = await startAnybodyProvider()
    const settings = {
      ...provider.settings,
      ...OPERATOR_SETTINGS,
      AUTH_PROFILE: profile,
      AUTH_RATE_LIMIT_HEADER: 'X-Real-Ip',
      AUTH_RATE_LIMIT_EMAIL_SENT: 'off',
      AUTH_RATE_LIMIT_SMS_SENT: 'off',
      AUTH_SMTP_MAX_FREQUENCY: '1ms',
      AUTH_SMS_MAX_FREQUENCY: '1ms',
      AUTH_SMS_OTP_EXP: '600',
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false',
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
      AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
      AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
      AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
      AUTH_PASSKEY_ENABLED: 'true',
      AUTH_MAILER_NOTIFICATIONS_PASSKEY_ADDED_ENABLED: 'false',
      AUTH_WEBAUTHN_RP_ID: 'app.example.com',
      AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
      AUTH_WEBAUTHN_RP_ORIGINS: 'https://app.example.com',
    }
    // The database's clock dates authentication methods, so use the real time. The hasher measures no time, because a slow
    // machine would otherwise refuse so many sign-ins.
    const passwords = createPasswordHasher({ runTasks: runRemembered, concurrency: 8, clock: () => 0 })
    service = await openMailApp(settings, { replace: () => ({ now: () => new Date(), passwords }) })
    operator = await createOperator(real(), 'admin')
  })
  afterAll(async () => {
    await service.close()
    await provider.close()
  })

  const real = () => ({ ...service, clock: { now: () => new Date(), advance: () => {} } })
  const send = async (method: 'GET' | 'PUT' | 'DELETE', url: string, headers: Headers, payload: object = {}) =>
    service.app.inject({ method, url, headers, ...(method === 'GET' ? {} : { payload }) })
  const put = async (headers: Headers, payload: object) =>
    expect(outcomeOf(await send('PUT', '/user', headers, payload))).toBe(200)
  const manage = async ({ here }: Owner, payload: object): Promise<After> => {
    const answer = await send('PUT', `/admin/users/${here.user.id}`, OPERATOR, payload)
    expect(outcomeOf(answer)).toBe(200)
    return {}
  }
  const newPhone = () => `1415777${1000 + ++count}`
  const newEmail = () => `work-${++count}@example.com`
  const verify = (payload: object) => service.post('/verify', payload)
  const post = async (url: string, headers: Headers, payload: object = {}) => {
    const answer = await service.post(url, payload, headers)
    expect(outcomeOf(answer)).toBe(200)
    return answer.json()
  }

  /** The addresses of ended changes. */
  const gone: string[] = []
  /** Expects that the record has no ended change, and requests its message again. */
  async function sendGoneAgain({ here }: Owner, type: 'email_change' | 'phone_change', to: string) {
    const user = (await send('GET', `/admin/users/${here.user.id}`, OPERATOR)).json()
    expect([user.new_email, user.new_phone]).toEqual([undefined, undefined])
    const again = await service.post('/resend', { type, email: here.email })
    expect(outcomeOf(again)).toBe(200)
    gone.push(to)
    return 'ends'
  }

  /** Ages the user's sessions, so that a new password needs a nonce. */
  const age = ({ here }: Owner) =>
    sql`UPDATE ${sql.table('sessions')} SET created_at = created_at - interval '2 days' WHERE user_id = ${here.user.id}`.execute(
      service.deps.db,
    )

  const kinds: Readonly<Record<string, readonly ((owner: Owner) => Promise<Finish>)[]>> = {
    'Change of email or phone': [
      async (owner) => {
        const email = newEmail()
        await put(owner.here.headers, { email })
        const { code } = await service.readMail(email)
        return async () => {
          const outcome = judge(await verify({ type: 'email_change', email, token: code }), EXPIRED_CODE)
          return outcome === 'ends' ? sendGoneAgain(owner, 'email_change', email) : outcome
        }
      },
      async (owner) => {
        const phone = newPhone()
        await put(owner.here.headers, { phone })
        const { code } = await service.sms.read(phone)
        return async () => {
          const outcome = judge(await verify({ type: 'phone_change', phone, token: code }), EXPIRED_CODE)
          return outcome === 'ends' ? sendGoneAgain(owner, 'phone_change', phone) : outcome
        }
      },
    ],
    'Change without a session': [
      async ({ here }) => {
        const link = { type: 'email_change_new', email: here.email, new_email: newEmail() }
        const { hashed_token } = await post('/admin/generate_link', OPERATOR, link)
        return async () => judge(await verify({ type: 'email_change', token_hash: hashed_token }), EXPIRED_LINK)
      },
    ],
    Nonce: [
      async (owner) => {
        await send('GET', '/reauthenticate', owner.here.headers)
        const { code: nonce } = await service.readMail(owner.here.email)
        const refused = errorBody(422, 'reauthentication_not_valid', 'Nonce has expired or is invalid')
        return async (headers) => {
          await age(owner)
          return judge(await send('PUT', '/user', headers, { password: 'yet another horse', nonce }), [422, refused])
        }
      },
    ],
    'Linking flow': [
      async ({ here }) => {
        const state = await beginLinking(service, 'keycloak', here.headers)
        const account = { sub: here.user.id, email: here.email, verified: true }
        return async () => {
          const { fragment, query } = await comeBackAs(service, state, account)
          if (fragment.access_token) return 'stays'
          return query.error_code === 'bad_oauth_state' ? 'ends' : query
        }
      },
    ],
    'Challenge of a factor': [
      async ({ here }) => {
        const phone = newPhone()
        const factor = await post('/factors', here.headers, { factor_type: 'phone', friendly_name: 'phone', phone })
        const challenge = await post(`/factors/${factor.id}/challenge`, here.headers)
        const { code } = await service.sms.read(phone)
        const payload = { challenge_id: challenge.id, code }
        const text = 'MFA factor with the provided challenge ID not found'
        return async (headers) =>
          judge(
            await service.post(`/factors/${factor.id}/verify`, payload, headers),
            [422, errorBody(422, 'mfa_factor_not_found', text)],
            NO_FACTOR,
          )
      },
    ],
    'Registration of a passkey': [
      async ({ here }) => {
        const { challenge_id, options } = await post(paths.start, here.headers)
        const payload = { challenge_id, credential: createAuthenticator().create(options) }
        const refused = errorBody(400, 'webauthn_challenge_not_found', 'WebAuthn challenge not found')
        return async (headers) => judge(await service.post(paths.finish, payload, headers), [400, refused])
      },
    ],
    Passkey: [
      async ({ here }) => {
        const key = createAuthenticator()
        const { challenge_id, options } = await post(paths.start, here.headers)
        await post(paths.finish, here.headers, { challenge_id, credential: key.create(options) })
        const refused = errorBody(400, 'webauthn_verification_failed', 'WebAuthn response could not be verified')
        return async () => {
          const asked = (await service.post(paths.signIn, {})).json()
          const payload = { challenge_id: asked.challenge_id, credential: key.get(asked.options) }
          return judge(await service.post(paths.signInFinish, payload), [400, refused])
        }
      },
    ],
    'Unproved factor': [
      async ({ here }) => {
        const wanted = { factor_type: 'phone', friendly_name: 'phone', phone: newPhone() }
        const { id } = await post('/factors', here.headers, wanted)
        return async (headers) => judge(await service.post(`/factors/${id}/challenge`, {}, headers), NO_FACTOR)
      },
    ],
  }

  const signOut = async ({ headers }: SignedIn, scope: string): Promise<After> => {
    expect(statusAndBody(await service.post(`/logout?scope=${scope}`, {}, headers))).toEqual([204, ''])
    return {}
  }
  const refresh = (refresh_token: string) => service.post('/token?grant_type=refresh_token', { refresh_token })
  /** Refreshes twice, and then uses the first token again. */
  const steal = async ({ refreshToken }: SignedIn): Promise<After> => {
    const second = (await refresh(refreshToken)).json().refresh_token
    await refresh(second)
    expect((await refresh(refreshToken)).json().error_code).toBe(OLD_TOKEN)
    return {}
  }
  const endAsOperator = async ({ here }: Owner, path: string, ended: number): Promise<After> => {
    expect(await operate(service, operator, `DELETE /users/${here.user.id}/sessions${path}`)).toEqual([200, { ended }])
    return {}
  }
  const secure = async ({ here }: Owner, since: Date): Promise<After> => {
    const answer = await operate(service, operator, `POST /users/${here.user.id}/secure`, {
      since: since.toISOString(),
    })
    expect(answer[0]).toBe(200)
    return {}
  }
  const stepUp = async ({ headers }: SignedIn) => ({ headers: (await addApp(real(), headers)).headers })
  const setPassword = async ({ headers }: SignedIn) => {
    await put(headers, { password: NEW_PASSWORD })
    return { password: NEW_PASSWORD }
  }

  const events: Readonly<Record<string, readonly ((owner: Owner) => Promise<After>)[]>> = {
    'this session signs out with `local`': [({ here }) => signOut(here, 'local')],
    'this session signs out with `others`': [({ here }) => signOut(here, 'others')],
    'another session signs out with `others`': [({ there }) => signOut(there, 'others')],
    'a session signs out with `global`': [
      ({ here }) => signOut(here, 'global'),
      ({ there }) => signOut(there, 'global'),
    ],
    'this session is revoked as stolen': [({ here }) => steal(here)],
    'another session is revoked as stolen': [({ there }) => steal(there)],
    'a ban, also one that is over': [
      async (owner) => {
        await manage(owner, { ban_duration: '1h' })
        return manage(owner, { ban_duration: 'none' })
      },
    ],
    'a new password in this session': [({ here }) => setPassword(here)],
    'a new password in another session': [({ there }) => setPassword(there)],
    'a new password by an admin': [
      async (owner) => {
        await manage(owner, { password: NEW_PASSWORD })
        return { password: NEW_PASSWORD }
      },
    ],
    'a recovery': [
      async ({ here: { email } }) => {
        await post('/recover', OPERATOR, { email })
        const answer = await verify({ type: 'recovery', email, token: (await service.readMail(email)).code })
        expect(outcomeOf(answer)).toBe(200)
        return {}
      },
    ],
    'a new role, or a new console role': [
      (owner) => manage(owner, { role: 'editor' }),
      async ({ here }) => {
        const path = `/users/${here.user.id}/console-role` as const
        expect((await operate(service, operator, `PUT ${path}`, { role: 'viewer' }))[0]).toBe(200)
        return {}
      },
    ],
    'the first second factor, in this session': [({ here }) => stepUp(here)],
    'the first second factor, in another session': [({ there }) => stepUp(there)],
    'an operator ends this session': [(owner) => endAsOperator(owner, `/${owner.here.sessionId}`, 1)],
    'an operator ends another session': [(owner) => endAsOperator(owner, `/${owner.there.sessionId}`, 1)],
    'an operator ends all sessions': [(owner) => endAsOperator(owner, '', 2)],
    'an operator secures the account from before this session': [
      (owner) => secure(owner, new Date(Date.now() - 60_000)),
    ],
    'an operator secures the account from a later time': [
      async (owner) => {
        const made = Date.now()
        // Wait for the next millisecond. In the same one, the event would also end what was just created.
        while (Date.now() === made) await setImmediate()
        return secure(owner, new Date())
      },
    ],
    'this session expires': [
      async ({ here }) => {
        const sessions = service.deps.db.updateTable('sessions').where('id', '=', here.sessionId)
        await sessions.set({ not_after: new Date(Date.now() - 1_000).toISOString() }).execute()
        return {}
      },
    ],
    'a newer sign-in': [async ({ here }) => ({ headers: (await signIn(service, here)).headers })],
  }

  it('ends or is finished, whichever is first, when a sign-out races a confirmation', async () => {
    const race = async (index: number) => {
      const here = await createSignedIn(service)
      const there = await signIn(service, here)
      const phone = newPhone()
      await put(here.headers, { phone })
      const { code: token } = await service.sms.read(phone)
      const [answer] = await Promise.all([
        verify({ type: 'phone_change', phone, token }),
        signOut(there, index % 2 === 0 ? 'others' : 'global'),
      ])
      const outcome = judge(answer, EXPIRED_CODE)
      const user = (await send('GET', `/admin/users/${here.user.id}`, OPERATOR)).json()
      expect([outcome, user.phone, user.new_phone]).toEqual([outcome, outcome === 'stays' ? phone : '', undefined])
      expect(['stays', 'ends']).toContain(outcome)
    }
    await runInPools(Array.from({ length: 20 }, (_, index) => () => race(index)))
  })

  it('is neither started nor finished by the access token of a session that was revoked as stolen', async () => {
    const here = await createSignedIn(service)
    const { challenge_id, options } = await post(paths.start, here.headers)
    await steal(here)
    const credential = createAuthenticator().create(options)
    for (const answer of [
      await send('PUT', '/user', here.headers, { phone: newPhone() }),
      await send('GET', '/reauthenticate', here.headers),
      await send('GET', '/user/identities/authorize?provider=keycloak', here.headers),
      await service.post('/factors', { factor_type: 'totp' }, here.headers),
      await service.post(paths.start, {}, here.headers),
      await service.post(paths.finish, { challenge_id, credential }, here.headers),
    ]) {
      const text = 'Session from session_id claim in JWT does not exist'
      expect(statusAndBody(answer)).toEqual([403, errorBody(403, 'session_not_found', text)])
    }
  })

  /** Starts the work in one session, triggers the event, and finishes the work in another session. */
  async function observe(start: (owner: Owner) => Promise<Finish>, event: (owner: Owner) => Promise<After>) {
    const here = await createSignedIn(service)
    const owner = { here, there: await signIn(service, here) }
    const finish = await start(owner)
    const { headers, password = here.password } = await event(owner)
    return finish(headers ?? (await signIn(service, { ...here, password })).headers)
  }

  it('ends as the table of the reference says, each kind at each event', async () => {
    const found: Record<string, Record<string, unknown>> = {}
    for (const [event, ways] of Object.entries(events)) {
      const cells = Object.entries(kinds).map(([kind, starts]) => async () => {
        const outcomes = starts.flatMap((start) => ways.map((way) => observe(start, way)))
        return [kind, [...new Set(await Promise.all(outcomes))]] as const
      })
      const each = (await runInPools(cells)).map(([kind, all]) => [kind, all.length === 1 ? all[0] : all])
      found[event] = Object.fromEntries(each)
    }
    expect(found).toEqual(table)
    await service.idle()
    const messages = [...service.recipients(), ...service.sms.messages.map(({ to }) => to)]
    expect(messages.filter((to) => gone.includes(String(to))).toSorted()).toEqual(gone.toSorted())
  }, 600_000)
})
