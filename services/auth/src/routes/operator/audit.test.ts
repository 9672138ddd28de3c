import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../test/auth-app.ts'
import { anyTime, errorBody, expectBody, statusAndBody } from '../../../test/bodies.ts'
import {
  changeEntry,
  createOperator,
  OPERATOR_SETTINGS,
  operate,
  type SignedInOperator,
} from '../../../test/operators.ts'
import { createSignedIn, type SignedIn } from '../../../test/signed-in.ts'

let test: TestApp
let support: SignedInOperator
let user: SignedIn
beforeAll(async () => {
  test = await openTestApp({ settings: OPERATOR_SETTINGS })
  support = await createOperator(test, 'support')
  user = await createSignedIn(test)
  await test.post('/token?grant_type=refresh_token', { refresh_token: user.refreshToken })
  await operate(test, support, `PUT /users/${user.user.id}/ban`, { duration: '24h' })
})
afterAll(() => test.close())

const ask = (query: string) => test.app.inject({ url: `/operator/audit${query}`, headers: { ...support.credentials } })
const actionsOf = async (query: string) =>
  expectBody(200, await ask(query)).entries.map(
    ({ payload }: { readonly payload: { readonly action: string } }) => payload.action,
  )

describe('GET /operator/audit', () => {
  it('200: finds what was done to a user and by them, without refreshes', async () => {
    const done = ['user_modified', 'operator.users.ban']
    // The clock stands still, so the entries are sorted by their random ids.
    expect((await actionsOf(`?user=${user.user.id}`)).toSorted()).toEqual(['login', ...done].toSorted())
    const own = ['login', 'factor_in_progress', 'challenge_created', 'verification_attempted']
    expect((await actionsOf(`?user=${support.user.id}`)).toSorted()).toEqual([...own, ...done].toSorted())
    expect(await actionsOf(`?user=${randomUUID()}`)).toEqual([])
  })

  it('200: finds an action, of an operator by its own name too, and shows whole entries', async () => {
    const object = { kind: 'user', id: user.user.id }
    const entry = {
      id: expect.any(String),
      created_at: anyTime,
      ip_address: '127.0.0.1',
      payload: changeEntry(support, { action: 'users.ban', object, changes: { duration: '24h' } }),
    }
    for (const action of ['users.ban', 'operator.users.ban'])
      expect(statusAndBody(await ask(`?action=${action}`))).toEqual([200, { entries: [entry] }])
  })

  it('200: leaves connections to others while an operator reads the log', async () => {
    const other = await createOperator(test, 'viewer')
    const held = await test.deps.db.startTransaction().execute()
    await sql`LOCK TABLE ${sql.table('audit_log_entries')} IN ACCESS EXCLUSIVE MODE`.execute(held)
    const answered: string[] = []
    const rememberAnswer = async (sent: Promise<{ readonly statusCode: number }>, what: string) =>
      answered.push(`${(await sent).statusCode} ${what}`)
    const reads = Array.from({ length: 60 }, () => rememberAnswer(Promise.resolve(ask('')), 'audit'))
    for (let count = 0; count < 3; count += 1) {
      await rememberAnswer(test.app.inject({ url: '/operator/users', headers: { ...other.credentials } }), 'users')
    }
    expect(answered).toEqual(Array(3).fill('200 users'))
    await held.rollback().execute()
    await Promise.all(reads)
    expect(answered.slice(3)).toEqual(Array(60).fill('200 audit'))
  })

  it('200: the header Link leads through all entries', async () => {
    const all = await actionsOf('?limit=100')
    const seen: string[] = []
    let url: string | undefined = '?limit=2'
    while (url !== undefined) {
      const answer = await ask(url)
      seen.push(
        ...expectBody(200, answer).entries.map(({ payload }: { payload: { action: string } }) => payload.action),
      )
      url = /\?[^>]+/.exec(String(answer.headers.link ?? ''))?.[0]
    }
    expect(seen).toEqual(all)
  })

  it('400: refuses a user that is no UUID', async () => {
    const refused = errorBody(400, 'validation_failed', 'user: must be a UUID')
    expect(statusAndBody(await ask('?user=x'))).toEqual([400, refused])
  })
})
