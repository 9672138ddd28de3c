import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import { statusAndBody } from '../../test/bodies.ts'
import {
  createOperator,
  forbidden,
  OPERATOR_SETTINGS,
  operate,
  type SignedInOperator,
  unauthorized,
} from '../../test/operators.ts'
import { createSignedUp } from '../../test/signed-up.ts'
import { buildApp } from '../app.ts'
import { createEncryptionKeys, deriveServerKeys } from '../secrets/encrypted-secret.ts'

let test: TestApp
let chief: SignedInOperator
beforeAll(async () => {
  test = await openTestApp({ settings: { ...OPERATOR_SETTINGS, AUTH_OPERATOR_SIGN_IN_AS: 'true' } })
  chief = await createOperator(test, 'admin')
})
afterAll(() => test.close())

/** Changes by another operator that end the rights of an operator. */
const ENDINGS = [
  ['role is taken', 'PUT', '/console-role', { role: null }],
  ['ban has begun', 'PUT', '/ban', { duration: '24h' }],
  ['sessions have ended', 'DELETE', '/sessions', undefined],
  ['row is deleted', 'DELETE', '?soft=false', undefined],
] as const

/** Sends a change and delays the end of its body, so that something happens after the check of the operator. */
async function sendSlowly(
  { credentials }: SignedInOperator,
  { method, path, key = randomUUID(), body }: { method: 'POST' | 'PUT'; path: string; key?: string; body: object },
  happen: () => Promise<unknown>,
) {
  const text = JSON.stringify(body)
  async function* pieces() {
    yield text.slice(0, 5)
    await happen()
    yield text.slice(5)
  }
  const headers = { ...credentials, 'idempotency-key': key, 'content-type': 'application/json' }
  const payload = Readable.from(pieces())
  return statusAndBody(await test.app.inject({ method, url: `/operator${path}`, headers, payload }))
}

const setPassword = (app: TestApp['app'], userId: string, key: string) =>
  app.inject({
    method: 'PUT',
    url: `/operator/users/${userId}`,
    headers: { ...chief.credentials, 'idempotency-key': key },
    payload: { password: 'correct horse battery' },
  })

const passwordOf = async (id: string) =>
  test.deps.db.selectFrom('users').select('encrypted_password').where('id', '=', id).executeTakeFirst()

describe('a change of an operator', () => {
  it.each(ENDINGS)('401: is refused when their %s while the body comes', async (_what, method, path, body) => {
    const fired = await createOperator(test, 'admin')
    const { user } = await createSignedUp(test.deps)
    const before = await passwordOf(user.id)
    const change = { method: 'PUT', path: `/users/${user.id}`, body: { password: 'known to who was fired' } } as const
    const answer = await sendSlowly(fired, change, async () => {
      const [status] = await operate(test, chief, `${method} /users/${fired.user.id}${path}`, body)
      expect(status).toBe(200)
    })
    expect(answer).toEqual(unauthorized)
    expect(await passwordOf(user.id)).toEqual(before)
  })

  it('403: is refused when their role is lowered while the body comes, though their session goes on', async () => {
    const lowered = await createOperator(test, 'admin')
    const { user } = await createSignedUp(test.deps)
    const change = { method: 'PUT', path: `/users/${user.id}/ban`, body: { duration: '24h' } } as const
    const answer = await sendSlowly(lowered, change, () =>
      test.deps.db.updateTable('users').set({ console_role: 'viewer' }).where('id', '=', lowered.user.id).execute(),
    )
    expect(answer).toEqual(forbidden('users.ban', 'viewer'))
  })

  it('401: shows no stored answer to an operator who is banned while the body of the repeat comes', async () => {
    const fired = await createOperator(test, 'admin')
    const { user } = await createSignedUp(test.deps)
    const path = `/users/${user.id}/sign-in-link`
    const change = { method: 'POST', path, key: randomUUID(), body: { reason: 'ticket 4711' } } as const
    const [first] = await sendSlowly(fired, change, async () => {})
    const repeat = await sendSlowly(fired, change, () =>
      operate(test, chief, `PUT /users/${fired.user.id}/ban`, { duration: '24h' }),
    )
    expect([first, repeat]).toEqual([201, unauthorized])
  })

  it('401: refuses the second of two admins who ban each other at once', async () => {
    const [one, other] = [await createOperator(test, 'admin'), await createOperator(test, 'admin')]
    const ban = (by: SignedInOperator, of: SignedInOperator) =>
      operate(test, by, `PUT /users/${of.user.id}/ban`, { duration: '24h' })
    const answers = await Promise.all([ban(one, other), ban(other, one)])
    expect(answers.filter(([status]) => status !== 200)).toEqual([unauthorized])
  })

  it('200: changes of one operator at once are all made', async () => {
    const users = await Promise.all(Array.from({ length: 6 }, () => createSignedUp(test.deps)))
    const answers = await Promise.all(
      users.map(({ user }) => operate(test, chief, `PUT /users/${user.id}/ban`, { duration: '24h' })),
    )
    expect(answers.map(([status]) => status)).toEqual(Array.from({ length: 6 }, () => 200))
  })
})

describe('the fingerprint of a change', () => {
  it('is no hash that a reader of the database could compare with passwords', async () => {
    const { user } = await createSignedUp(test.deps)
    const key = randomUUID()
    expect((await setPassword(test.app, user.id, key)).statusCode).toBe(200)
    const asked = ['PUT', '/operator/users/:userId', { userId: user.id }, {}, { password: 'correct horse battery' }]
    const guesses = [asked, ['operator change', ...asked]].map((guess) =>
      createHash('sha256').update(JSON.stringify(guess)).digest(),
    )
    const rows = await test.deps.db
      .selectFrom('operator_changes')
      .select('fingerprint')
      .where('key', '=', key)
      .execute()
    expect(rows).toEqual([{ fingerprint: expect.any(Buffer) }])
    expect(guesses.some((guess) => rows[0]?.fingerprint.equals(guess))).toBe(false)
  })

  it('200: is known by a process with a newer encryption key, so a repeat gets the stored answer', async () => {
    const { user } = await createSignedUp(test.deps)
    const key = randomUUID()
    const first = await setPassword(test.app, user.id, key)
    const { current } = test.deps.encryptionKeys
    const encryptionKeys = createEncryptionKeys(randomBytes(32), [current.key])
    const rotated = { ...test.deps, encryptionKeys, serverKeys: deriveServerKeys(encryptionKeys) }
    const app = await buildApp(rotated)
    const repeat = await setPassword(app, user.id, key)
    await app.close()
    expect([repeat.headers['idempotent-replayed'], ...statusAndBody(repeat)]).toEqual(['true', ...statusAndBody(first)])
  })
})
