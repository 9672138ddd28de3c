import { Command } from 'commander'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { errorBody, outcomeOf } from '../../test/bodies.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { createKeyRing, POLL_MS } from '../access-tokens/key-ring.ts'
import { buildApp } from '../app.ts'
import { runWorkAlone } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { addSigningKey, promoteSigningKey } from '../use-cases/manage-signing-keys.ts'
import { keysCommand } from './keys.ts'

const test = await openTestApp({ settings: { AUTH_JWT_KEY_ID: 'secret' } })
const { deps } = test
const signedUp = await createSignedUp(deps)

/** Processes of one service. Each reads the table of keys by itself. */
const replicas = await Promise.all(
  [1, 2].map(async () => {
    const signingKeys = createKeyRing({ ...deps, jwt: deps.config.jwt, tokenRules: deps.config.compatibility })
    return { signingKeys, app: await buildApp({ ...deps, signingKeys }) }
  }),
)
const [first, second] = replicas
type Replica = (typeof replicas)[number] | undefined

beforeEach(async () => {
  pauses.length = 0
  await deps.db.deleteFrom('signing_keys').execute()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  for (const { signingKeys } of replicas) {
    await signingKeys.load()
    signingKeys.startPolling(() => {})
  }
})
afterEach(() => {
  for (const { signingKeys } of replicas) signingKeys.stopPolling()
  vi.useRealTimers()
})
afterAll(async () => {
  for (const { app } of replicas) await app.close()
  await test.close()
})

const pauses: number[] = []

/** Runs `auth keys …` and returns the printed lines. When the command pauses, the test makes the keys older. */
function keys(...words: readonly string[]): Promise<readonly string[]> {
  return keysOf(deps, words)
}

async function keysOf(operatorDeps: AuthDeps, words: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = []
  const open = async () => ({ ...operatorDeps, close: async () => {} })
  const command = keysCommand({ open, print: (line) => lines.push(line) }, async (ms) => {
    pauses.push(ms)
    await age(ms / 1_000)
  })
  await new Command()
    .exitOverride()
    .addCommand(command)
    .parseAsync(['keys', ...words], { from: 'user' })
  return lines
}

/** Moves the times of the keys into the past. */
async function age(seconds: number): Promise<void> {
  const interval = sql`make_interval(secs => ${seconds})`
  await deps.db
    .updateTable('signing_keys')
    .set({ created_at: sql`created_at - ${interval}`, retire_at: sql`retire_at - ${interval}` })
    .execute()
}

async function kidsOf(replica: Replica): Promise<readonly string[]> {
  const answer = await replica?.app.inject('/.well-known/jwks.json')
  return answer?.json().keys.map(({ kid }: { kid: string }) => kid)
}

/** Advances the polling until every process has these keys. */
async function poll(...kids: readonly string[]): Promise<void> {
  await vi.advanceTimersByTimeAsync(POLL_MS)
  for (const replica of replicas) await expect.poll(() => kidsOf(replica)).toEqual(kids)
}

async function signIn(replica: Replica): Promise<{ readonly token: string; readonly header: unknown }> {
  const payload = { email: signedUp.email, password: signedUp.password }
  const answer = await replica?.app.inject({ method: 'POST', url: '/token?grant_type=password', payload })
  const token: string = answer?.json().access_token
  return { token, header: JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) }
}

const refused = [
  403,
  errorBody(
    403,
    'bad_jwt',
    'invalid JWT: unable to parse or verify signature, token is unverifiable: unrecognized key or algorithm',
  ),
]

/** Returns the answers of all processes to a token: 200, or the complete refusal. */
async function answersTo(token: string): Promise<readonly unknown[]> {
  const headers = { authorization: `Bearer ${token}` }
  return Promise.all(replicas.map(async ({ app }) => outcomeOf(await app.inject({ url: '/user', headers }))))
}

describe('auth keys', () => {
  // ASVS 11.2.2
  it('rotates keys under several running processes, and no token fails meanwhile', async () => {
    expect(await keys()).toEqual(['AUTH_JWT_SECRET signs (HS256)'])
    const bySecret = await signIn(first)
    expect(bySecret.header).toEqual({ alg: 'HS256', typ: 'JWT', kid: 'secret' })

    expect(await keys('add', '--kid', 'a')).toEqual(['added a (ES256); in 10 minutes: auth keys promote a'])
    await poll('a')
    expect((await signIn(first)).header).toEqual({ alg: 'HS256', typ: 'JWT', kid: 'secret' })

    await age(600)
    expect(await keys('promote', 'a')).toEqual(['a signs'])
    // Only the first process reads the table again. The second already knows the key from when it was added.
    await first?.signingKeys.load()
    const byA = await signIn(first)
    expect(byA.header).toEqual({ alg: 'ES256', typ: 'JWT', kid: 'a' })
    expect((await signIn(second)).header).toEqual({ alg: 'HS256', typ: 'JWT', kid: 'secret' })
    expect(await answersTo(byA.token)).toEqual([200, 200])
    expect(await answersTo(bySecret.token)).toEqual([200, 200])

    await keys('add', '--kid', 'b', '--alg', 'EdDSA')
    await poll('a', 'b')
    await age(600)
    expect(await keys('promote', 'b')).toEqual(['b signs', expect.stringMatching(/^a verifies until 20\d\d-/)])
    await poll('a', 'b')
    await Promise.all(replicas.map((replica) => replica.signingKeys.load()))
    expect((await signIn(second)).header).toEqual({ alg: 'EdDSA', typ: 'JWT', kid: 'b' })
    expect(await answersTo(byA.token)).toEqual([200, 200])

    // JWT_EXP, plus a minute for processes that read the table late.
    await age(3_659)
    await first?.signingKeys.load()
    expect(await kidsOf(first)).toEqual(['a', 'b'])
    await age(1)
    await poll('b')
    expect(await answersTo(byA.token)).toEqual([refused, refused])
    expect(await keys('list')).toEqual([
      expect.stringMatching(/^KID {2}STATE {4}ALG {4}MADE {30}VERIFIES$/),
      expect.stringMatching(/^b {4}active {3}EdDSA {2}20\S+ {2}yes$/),
      expect.stringMatching(/^a {4}retired {2}ES256 {2}20\S+ {2}no longer$/),
    ])
    const times = { created_at: expect.stringMatching(/^20\S+$/), retire_at: null }
    expect(JSON.parse((await keys('list', '--json')).join('\n'))).toEqual([
      { kid: 'b', alg: 'EdDSA', state: 'active', ...times, verifies: true },
      { kid: 'a', alg: 'ES256', state: 'retired', ...times, retire_at: times.created_at, verifies: false },
    ])
  })

  it('promote waits until other services have read the key', async () => {
    await keys('add', '--kid', 'a')
    await age(599)
    await expect(keys('promote', 'a')).rejects.toHaveProperty(
      'message',
      'others may not have read a yet: wait 1 s, or let them refuse its tokens until then (--now)',
    )
    await age(1)
    expect(await keys('promote', 'a')).toEqual(['a signs'])
  })

  it('promote --now waits until every process of this service knows the key', async () => {
    await keys('add', '--kid', 'a')
    expect(await keys('promote', 'a', '--now')).toEqual(['waiting 10 s, until every process knows a', 'a signs'])
    expect(pauses).toEqual([10_000])
    expect(await keys('promote', 'a', '--now')).toEqual(['a signs already'])
  })

  it('prints the key that it has changed as one JSON document', async () => {
    const changed = async (...words: readonly string[]) =>
      (await keys(...words, '--json')).map((line) => JSON.parse(line))
    const at = expect.stringMatching(/^20\S+$/)
    const key = { kid: 'a', alg: 'EdDSA', created_at: at, retire_at: null, verifies: true }
    expect(await changed('add', '--kid', 'a', '--alg', 'EdDSA')).toEqual([{ ...key, state: 'next' }])
    expect(await changed('promote', 'a', '--now')).toEqual([{ ...key, state: 'active' }])
    expect(pauses).toEqual([10_000])
    expect(await changed('retire', 'a')).toEqual([{ ...key, state: 'retired', retire_at: at }])
    await expect(changed('promote', 'b')).rejects.toThrow('there is no key b')
  })

  it('promote refuses a key whose tokens the service would not accept', async () => {
    const jwt = { ...deps.config.jwt, validMethods: ['HS256', 'RS256'] }
    const strict = { ...deps, config: { ...deps.config, jwt } }
    await keys('add', '--kid', 'a')
    await age(600)
    await expect(keysOf(strict, ['promote', 'a', '--now'])).rejects.toHaveProperty(
      'message',
      'AUTH_JWT_VALID_METHODS must contain ES256 before a can sign',
    )
    expect(await keys()).toEqual([
      'AUTH_JWT_SECRET signs (HS256)',
      expect.stringMatching(/^KID /),
      expect.stringMatching(/^a {4}next {3}ES256 /),
    ])
  })

  it('promote brings a retired key back while it still verifies', async () => {
    await keys('add', '--kid', 'a')
    await keys('add', '--kid', 'b')
    await age(600)
    for (const kid of ['a', 'b', 'a']) await keys('promote', kid)
    expect(await keys()).toEqual([
      expect.stringMatching(/^KID /),
      expect.stringMatching(/^b {4}retired {2}ES256 {2}\S+ {2}until \S+$/),
      expect.stringMatching(/^a {4}active {3}ES256 {2}\S+ {2}yes$/),
    ])
  })

  it('retire --now makes the service refuse the tokens of the key', async () => {
    await keys('add', '--kid', 'a')
    await keys('promote', 'a', '--now')
    await poll('a')
    await first?.signingKeys.load()
    const { token } = await signIn(first)
    expect(await answersTo(token)).toEqual([200, 200])
    expect(await keys('retire', 'a', '--now')).toEqual([
      'a is over',
      'AUTH_JWT_SECRET signs (HS256) until a key is promoted',
    ])
    await poll()
    expect(await answersTo(token)).toEqual([refused, refused])
    expect(await keys('retire', 'a', '--now')).toEqual(['a is retired already'])
    await expect(keys('promote', 'a')).rejects.toHaveProperty('message', 'a is over: add another key')
  })

  it('retire keeps a key until its tokens have expired, and ends an unused key at once', async () => {
    await keys('add', '--kid', 'a')
    await keys('add', '--kid', 'b')
    await keys('promote', 'a', '--now')
    const [line] = await keys('retire', 'a')
    const until = Date.parse(/^a verifies until (\S+)$/.exec(line ?? '')?.[1] ?? '')
    expect(Math.abs(until - Date.now() - 3_660_000)).toBeLessThan(20_000)
    expect(await keys('retire', 'b')).toEqual(['b is over'])
    await poll('a')
  })

  it('two parallel promotions leave one signing key', async () => {
    for (const kid of ['a', 'b', 'c']) await keys('add', '--kid', kid)
    await age(600)
    await Promise.all(['a', 'b', 'c'].map((kid) => keys('promote', kid)))
    const states = (await keys()).slice(1).map((line) => line.split(/ +/)[1])
    expect(states.sort()).toEqual(['active', 'retired', 'retired'])
  })

  it('never reuses a key id', async () => {
    const taken = (kid: string) => `the key id ${kid} is taken, and never given again`
    await keys('add', '--kid', 'a')
    await expect(keys('add', '--kid', 'a')).rejects.toHaveProperty('message', taken('a'))
    await keys('retire', 'a')
    await expect(keys('add', '--kid', 'a')).rejects.toHaveProperty('message', taken('a'))
    await expect(keys('add', '--kid', 'secret')).rejects.toHaveProperty('message', taken('secret'))
    expect(await keys('add')).toEqual([expect.stringMatching(/^added [0-9a-f-]{36} \(ES256\); /)])
  })

  it('stores no private key in the clear and prints none', async () => {
    const lines = await Promise.all(['HS256', 'RS256', 'RS512', 'ES512'].map((alg) => keys('add', '--alg', alg)))
    const rows = await deps.db.selectFrom('signing_keys').selectAll().execute()
    expect(JSON.stringify([rows, lines])).not.toMatch(/"(d|k|p|q|dp|dq|qi)":/)
    expect(rows.map(({ alg, public_jwk }) => [alg, public_jwk === null]).sort()).toEqual([
      ['ES512', false],
      ['HS256', true],
      ['RS256', false],
      ['RS512', false],
    ])
    expect(await kidsOf(first)).toEqual([])
    await first?.signingKeys.load()
    expect(await kidsOf(first)).toHaveLength(3)
  })

  it.each([
    [['promote', 'x'], 'there is no key x'],
    [['retire', 'x'], 'there is no key x'],
    [['add', '--kid', 'a b'], '--kid takes 1 to 128 letters, digits, dots, colons, _ and -'],
    [
      ['add', '--alg', 'none'],
      "error: option '--alg <name>' argument 'none' is invalid. Allowed choices are ES256, EdDSA, RS256, HS256, ES512, RS512.",
    ],
    [['promote'], "error: missing required argument 'kid'"],
  ])('refuses %j', async (words, message) => {
    vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    await expect(keys(...words)).rejects.toHaveProperty('message', message)
    vi.restoreAllMocks()
  })
})

it('a promoted key signs beside a hundred older keys, and the key set has it', async () => {
  const kids = Array.from({ length: 101 }, (_, number) => `many-${String(number).padStart(3, '0')}`)
  for (const kid of kids) await addSigningKey(deps, { alg: 'EdDSA', kid }, runWorkAlone)
  await promoteSigningKey(deps, { kid: 'many-100', ageSecondsMin: 0 }, runWorkAlone)
  await first?.signingKeys.load()
  const [header = ''] = first?.signingKeys.sign({ sub: signedUp.user.id }).split('.') ?? []
  expect(JSON.parse(Buffer.from(header, 'base64url').toString()).kid).toBe('many-100')
  const published = first?.signingKeys.publicJwks().map((key) => key.kid)
  expect(published).toEqual([...kids.slice(0, 99), 'many-100'])
})
