import { beforeEach, describe, expect, it } from 'vitest'
import type { TestApp } from '../auth-app.ts'
import { totpCode } from '../authenticator-app.ts'
import { errorBody } from '../bodies.ts'
import { authenticatorOf, openAdoptedVersion } from './adopted-app.ts'
import { openImportedCopy } from './imported-app.ts'
import { type OldUser, readManifest, runSql, VERSIONS } from './restored-database.ts'

/** The error of each old server for a user who may not sign in, by user name. */
const REFUSED = {
  unconfirmed: 'email_not_confirmed',
  banned: 'user_banned',
  gone: 'invalid_credentials',
} as const

const TEXTS = {
  email_not_confirmed: 'Email not confirmed',
  user_banned: 'User is banned',
  invalid_credentials: 'Invalid login credentials',
} as const

let app: TestApp

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

async function refresh(refresh_token: string) {
  const answer = await app.post('/token?grant_type=refresh_token', { refresh_token })
  return answer.statusCode === 200 ? { status: 200, ...claimsOf(answer.json().access_token) } : outcomeOf(answer)
}

const outcomeOf = (answer: { statusCode: number; body: string }) => ({
  status: answer.statusCode,
  body: JSON.parse(answer.body),
})

function claimsOf(token: string) {
  const { sub, session_id, aal } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return { sub, session_id, aal }
}

async function signIn({ email, phone, password }: OldUser) {
  const answer = await app.post('/token?grant_type=password', { ...(email ? { email } : { phone }), password })
  return answer.statusCode === 200 ? { status: 200, sub: answer.json().user.id } : outcomeOf(answer)
}

const signInToken = async ({ email, password }: OldUser) => {
  const answer = await app.post('/token?grant_type=password', { email, password })
  return String(answer.json().access_token)
}

/** Both ways to move from supabase/auth. */
const WAYS = [
  { way: 'adopted', open: openAdoptedVersion },
  { way: 'imported', open: openImportedCopy },
] as const
const CASES = WAYS.flatMap((way) => VERSIONS.map((version) => ({ ...way, version })))

describe.each(CASES)('an $way database of $version', ({ open, version }) => {
  const { users } = readManifest(version)
  const named = (name: string) => users.find((user) => user.name === name)
  beforeEach(async () => {
    app = await open(version)
  })

  it('signs everybody in by the password they had, and refuses whom the old server refuses', async () => {
    for (const user of users.filter(({ password }) => password !== undefined)) {
      const code = Object.entries(REFUSED).find(([name]) => name === user.name)?.[1]
      const expected =
        code === undefined ? { status: 200, sub: user.id } : { status: 400, body: errorBody(400, code, TEXTS[code]) }
      expect([user.name, await signIn(user)]).toEqual([user.name, expected])
    }
  })

  it('continues sessions: refresh tokens refresh, and access tokens work', async () => {
    for (const user of users) {
      for (const { access_token, refresh_token, session_id, aal } of user.sessions) {
        const own = await app.app.inject({ url: '/user', headers: bearer(access_token) })
        expect([user.name, own.statusCode, own.json().id]).toEqual([user.name, 200, user.id])
        expect(await refresh(refresh_token)).toEqual({ status: 200, sub: user.id, session_id, aal })
      }
    }
  })

  it('400: continues no session of a banned user', async () => {
    const body = errorBody(400, 'user_banned', 'Invalid Refresh Token: User Banned')
    const dead = users.flatMap(({ dead_sessions }) => dead_sessions)
    for (const { refresh_token } of dead) expect(await refresh(refresh_token)).toEqual({ status: 400, body })
    expect(dead).toHaveLength(1)
  })

  it('accepts the parent of a refresh token, whose child stays valid, and takes an older one for a theft', async () => {
    const user = named('plain')
    const [parent = ''] = user?.parents ?? []
    const [grandparent = ''] = user?.grandparents ?? []
    const child = user?.sessions.at(-1)
    const session = { status: 200, sub: user?.id, session_id: child?.session_id, aal: 'aal1' }
    expect(await refresh(parent)).toEqual(session)
    expect(await refresh(child?.refresh_token ?? '')).toEqual(session)
    const body = errorBody(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used')
    expect(await refresh(grandparent)).toEqual({ status: 400, body })
    expect(await refresh(child?.refresh_token ?? '')).toEqual({ status: 400, body })
  })

  it('confirms the messages that the old server has sent, by code or link', async () => {
    const verify = async (fields: object) => {
      const answer = await app.post('/verify', fields)
      return [answer.statusCode, answer.json().user?.id]
    }
    for (const name of ['unconfirmed', 'recovering']) {
      const { id, email, pending } = named(name) ?? {}
      const wrong = await app.post('/verify', { type: pending?.type, email, token: '000000' })
      expect(outcomeOf(wrong)).toEqual({
        status: 403,
        body: errorBody(403, 'otp_expired', 'Token has expired or is invalid'),
      })
      expect(await verify({ type: pending?.type, email, token: pending?.email_otp })).toEqual([200, id])
    }
    for (const name of ['invited', 'moving']) {
      const { id, pending } = named(name) ?? {}
      expect([name, await verify({ type: pending?.type, token_hash: pending?.hashed_token })]).toEqual([
        name,
        [200, id],
      ])
    }
  })

  it('signs in with the second factors that users had', async () => {
    const [totp, webauthn] = [named('totp'), named('webauthn')]
    const verify = async (user: OldUser, factorId: string, answer: (question: { challenge: string }) => object) => {
      const headers = bearer(await signInToken(user))
      const challenged = await app.app.inject({
        method: 'POST',
        url: `/factors/${factorId}/challenge`,
        headers,
        payload: {},
      })
      const { id, webauthn: asked } = challenged.json()
      const payload = { challenge_id: id, ...answer(asked?.credential_options?.publicKey) }
      const verified = await app.app.inject({ method: 'POST', url: `/factors/${factorId}/verify`, headers, payload })
      return [verified.statusCode, claimsOf(verified.json().access_token).aal]
    }
    if (totp?.totp === undefined) throw new Error('every version has a user with an authenticator app')
    const { factor_id, secret } = totp.totp
    const code = totpCode(secret, app.deps.now())
    expect(await verify(totp, factor_id, () => ({ code }))).toEqual([200, 'aal2'])
    if (webauthn?.webauthn === undefined) return
    const key = authenticatorOf(webauthn.webauthn)
    const assertion = (options: { challenge: string }) => ({
      webauthn: { type: 'request', credential_response: key.get(options) },
    })
    expect(await verify(webauthn, webauthn.webauthn.factor_id, assertion)).toEqual([200, 'aal2'])
  })

  it('lists everybody, and has the entries of the audit log', async () => {
    const { rows } = readManifest(version)
    expect(
      await runSql(
        app.database.directUrl,
        `SELECT (SELECT count(*)::int FROM auth.user_directory) AS users,
           (SELECT count(*)::int FROM auth.audit_log_entries WHERE action <> '' AND log_type <> '') AS entries`,
      ),
    ).toEqual([{ users: rows.users, entries: rows.audit_log_entries }])
  })

  if (version !== 'v2.43.1') {
    it('exchanges the code of a flow that the old server has ended', async () => {
      const { pkce, email } = named('flow') ?? {}
      const answer = await app.post('/token?grant_type=pkce', { ...pkce })
      expect([answer.statusCode, answer.json().user.email, answer.json().provider_refresh_token]).toEqual([
        200,
        email,
        'rt',
      ])
    })
  }

  if (/2\.196/.test(version)) {
    it('signs in by a passkey', async () => {
      const user = named('passkey')
      if (user?.passkey === undefined) throw new Error('each server with passkeys has a user with one')
      const { challenge_id, options } = (await app.post('/passkeys/authentication/options', {})).json()
      const credential = authenticatorOf(user.passkey).get(options)
      const answer = await app.post('/passkeys/authentication/verify', { challenge_id, credential })
      expect([answer.statusCode, answer.json().user?.id ?? answer.body]).toEqual([200, user.id])
    })
  }
})

describe.each(VERSIONS)('an adopted database of %s', (version) => {
  const { users } = readManifest(version)
  const named = (name: string) => users.find((user) => user.name === name)

  it('leaves the tables of applications as they are: triggers, foreign keys and policies', async () => {
    const adopted = await openAdoptedVersion(version)
    const { superuserUrl } = adopted.restored.database
    app = adopted
    const email = 'new@example.com'
    const signedUp = await app.post('/signup', { email, password: 'correct horse battery' })
    const { id } = signedUp.json().user
    expect(await runSql(superuserUrl, `SELECT id, email FROM public.profiles WHERE id = '${id}'`)).toEqual([
      { id, email },
    ])
    const notesOf = (user: string | undefined, aal: string) =>
      runSql(
        superuserUrl,
        `SET ROLE authenticated; SET request.jwt.claims = '${JSON.stringify({ sub: user, role: 'authenticated', aal })}';
         INSERT INTO public.notes (body) VALUES ('mine')`,
      ).then(
        () => 'inserted',
        (error: Error) => error.message,
      )
    const refused = 'new row violates row-level security policy "second_factor" for table "notes"'
    expect(await notesOf(id, 'aal1')).toBe('inserted')
    expect([await notesOf(named('totp')?.id, 'aal1'), await notesOf(named('totp')?.id, 'aal2')]).toEqual([
      refused,
      'inserted',
    ])
    await runSql(superuserUrl, `DELETE FROM public.notes; DELETE FROM auth.users WHERE id = '${id}'`)
    expect(await runSql(superuserUrl, `SELECT id FROM public.profiles WHERE id = '${id}'`)).toEqual([])
    expect(await refresh(signedUp.json().refresh_token)).toEqual({
      status: 400,
      body: errorBody(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
    })
  })
})
