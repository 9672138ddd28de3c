import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../test/auth-app.ts'
import { anyId, anyTime, errorBody, expectBody, factorBody, signedUpBody, statusAndBody } from '../../../test/bodies.ts'
import { createOperator, OPERATOR_SETTINGS, type SignedInOperator } from '../../../test/operators.ts'
import { createSignedIn } from '../../../test/signed-in.ts'
import { createSignedUp, type SignedUp } from '../../../test/signed-up.ts'
import { insertIdentity } from '../../identities/identity-repository.ts'
import { searchUsers } from '../../use-cases/list-users.ts'

let test: TestApp
let viewer: SignedInOperator
let people: readonly SignedUp[]
const at = (second: number) => new Date(Date.UTC(2020, 0, 1, 0, 0, second))
beforeAll(async () => {
  test = await openTestApp({ settings: OPERATOR_SETTINGS })
  const add = (second: number, changes: Parameters<typeof createSignedUp>[1]) =>
    createSignedUp(test.deps, { created_at: at(second), ...changes })
  people = [
    await add(1, { email: 'ann@shop.example', raw_user_meta_data: { full_name: 'Ann Öberg' } }),
    await add(2, { email: 'bob@ann.example', phone: '447418084106', aud: 'elsewhere' }),
    await add(3, { email: 'carl@shop.example', deleted_at: new Date() }),
  ]
  await add(4, { email: 'staged@shop.example', staged_at: new Date() })
  const [, bob] = people
  const account = {
    provider: 'github',
    provider_id: 'Gh-42',
    identity_data: { sub: 'Gh-42', email: 'bob@github.example' },
  }
  await insertIdentity(test.deps.db, { ...account, user_id: bob?.user.id ?? '', created_at: at(2) })
  viewer = await createOperator(test, 'viewer')
})
afterAll(() => test.close())

const ask = (query = '') => test.app.inject({ url: `/operator/users${query}`, headers: { ...viewer.credentials } })
const emailsOf = async (query: string) => {
  const answer = await ask(query)
  return expectBody(200, answer).users.map(({ email }: { readonly email: string }) => email)
}
/** An identity of a user in the list. The default is the identity of the user's email. */
const listedIdentity = ({ user: { id }, email }: SignedUp, members: object = {}) => ({
  ...{ identity_id: anyId, user_id: id, created_at: anyTime, updated_at: anyTime },
  ...{ id, provider: 'email', email, ...members },
})
const [ANN, BOB, CARL] = ['ann@shop.example', 'bob@ann.example', 'carl@shop.example']
const search = (text: string) => emailsOf(`?order=asc&search=${encodeURIComponent(text)}`)

describe('GET /operator/users', () => {
  // Users write these values, up to a megabyte each. A page that contains them would be too large for the console.
  it('200: shows users without metadata and without the claims of their identities', async () => {
    const [, bob] = people
    const { user_metadata: _metadata, ...shown } = signedUpBody(bob ?? viewer, { email: BOB })
    const account = { id: 'Gh-42', provider: 'github', email: 'bob@github.example' }
    const identities = [listedIdentity(bob ?? viewer, account), listedIdentity(bob ?? viewer)]
    const own = { aud: 'elsewhere', phone: '447418084106', app_metadata: {}, identities }
    expect(statusAndBody(await ask('?search=bob@'))).toEqual([200, { users: [{ ...shown, ...own }] }])
  })

  it('200: leaves connections to those who sign in while an operator searches', async () => {
    const held = await test.deps.db.startTransaction().execute()
    const user = await createSignedIn(test)
    await sql`LOCK TABLE ${sql.table('user_directory')} IN ACCESS EXCLUSIVE MODE`.execute(held)
    const answered: string[] = []
    const rememberAnswer = async (sent: Promise<{ readonly statusCode: number }>, what: string) =>
      answered.push(`${(await sent).statusCode} ${what}`)
    const searches = Array.from({ length: 60 }, () => rememberAnswer(Promise.resolve(ask('?search=o')), 'search'))
    let { refreshToken } = user
    for (let count = 0; count < 3; count += 1) {
      const answer = await test.post('/token?grant_type=refresh_token', { refresh_token: refreshToken })
      refreshToken = answer.json().refresh_token
      await rememberAnswer(Promise.resolve(answer), 'refresh')
    }
    expect(answered).toEqual(Array(3).fill('200 refresh'))
    await held.rollback().execute()
    await Promise.all(searches)
    expect(answered.slice(3)).toEqual(Array(60).fill('200 search'))
    await test.deps.db.deleteFrom('users').where('id', '=', user.user.id).execute()
  })

  it('200: shows the console role of an operator', async () => {
    const { user_metadata: _metadata, ...shown } = signedUpBody(viewer, {
      app_metadata: { console_role: 'viewer' },
      factors: [factorBody({ last_challenged_at: anyTime })],
      identities: [listedIdentity(viewer)],
      last_sign_in_at: anyTime,
    })
    expect(statusAndBody(await ask(`?search=${viewer.email}`))).toEqual([200, { users: [shown] }])
  })

  it('200: lists users of every audience by creation, the newest first, but no pending sign-up', async () => {
    expect(await emailsOf('')).toEqual([viewer.email, CARL, BOB, ANN])
    expect(await emailsOf('?order=asc')).toEqual([ANN, BOB, CARL, viewer.email])
  })

  it.each<[string, string, readonly (string | undefined)[]]>([
    ['the beginning of an email, in any case', 'CARL@', [CARL]],
    ['one character', 'b', [BOB]],
    ['the beginning of a full name', 'ann ö', [ANN]],
    ['beginnings alone, of any of them', 'ann', [ANN]],
    ['no part that is no beginning', 'shop.example', []],
    ['the beginning of a phone', '4474', [BOB]],
    ['a phone as people write it', '+44 74 18', [BOB]],
    ['the first digit of a phone', '+4', [BOB]],
    ['a phone with slashes', '+44/7418', [BOB]],
    ['a phone in digits of another script', '+٤٤ ٧٤١٨', [BOB]],
    ['a phone with the zero of the national number', '+44 (0) 7418 084106', [BOB]],
    ['the whole subject of an identity', 'Gh-42', [BOB]],
    ['no part of a subject', 'Gh-4', []],
    ['no pattern', 'a%', []],
  ])('200: finds users by %s', async (_case, text, found) => {
    expect(await search(text)).toEqual(found)
  })

  it('200: parses no phone in a profile that parses none', async () => {
    const { config } = test.deps
    const asWritten = { ...config, compatibility: { ...config.compatibility, parsePhones: false } }
    const page = { direction: 'asc', limit: 10, after: undefined } as const
    const find = (text: string) => searchUsers({ ...test.deps, config: asWritten }, { ...page, search: text })
    expect(await find('+44 (0) 7418 084106')).toEqual([])
    expect((await find('+44 7418 084106')).map(({ user }) => user.email)).toEqual([BOB])
  })

  it('200: finds a user by their id, in upper case too', async () => {
    const id = people[1]?.user.id ?? ''
    expect(await search(id)).toEqual([BOB])
    expect(await search(id.toUpperCase())).toEqual([BOB])
    expect(await search(randomUUID())).toEqual([])
  })

  it('200: the header Link leads through all pages', async () => {
    const first = await ask('?limit=2&order=asc')
    expect(first.headers.link).toMatch(/^<\/operator\/users\?limit=2&order=asc&cursor=users\.[\w-]+>; rel="next"$/)
    const next = /<([^>]+)>/.exec(String(first.headers.link))?.[1]?.replace('/operator/users', '') ?? ''
    expect(await emailsOf(next)).toEqual([CARL, viewer.email])
    expect((await ask(next)).headers.link).toBeUndefined()
  })

  it('400: refuses a bad number, a bad order, a long search and the cursor of another list', async () => {
    const cursor = String((await ask('?limit=1')).headers.link).replace(/.*cursor=users\.([\w-]+).*/, '$1')
    for (const [query, text] of [
      ['?limit=0', 'Bad Pagination Parameters: limit must be an integer between 1 and 100'],
      ['?limit=101', 'Bad Pagination Parameters: limit must be an integer between 1 and 100'],
      [`?search=${'x'.repeat(256)}`, 'search: must be at most 255 characters'],
      ['?order=up', 'order: must be one of asc, desc'],
      [`?cursor=sessions.${cursor}`, 'Bad Pagination Parameters: cursor is none of this list'],
      [`?cursor=${cursor}`, 'Bad Pagination Parameters: cursor is none of this list'],
    ] as const)
      expect(statusAndBody(await ask(query))).toEqual([400, errorBody(400, 'validation_failed', text)])
  })
})
