import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import { userBody } from '../../test/bodies.ts'
import { expectFailure as failWith } from '../../test/expect-failure.ts'
import { OPERATOR } from '../../test/forged-token.ts'

let test: TestApp
beforeAll(async () => {
  test = await openTestApp({ settings: { AUTH_DB_NAMESPACE: 'app' } })
})
afterAll(() => test.close())

interface Listed {
  readonly users: readonly { readonly email: string; readonly id: string }[]
  readonly aud: string
}

async function list(query = '', headers: Record<string, string> = {}) {
  const answer = await test.app.inject({ url: `/admin/users${query}`, headers: { ...OPERATOR, ...headers } })
  const body: Listed = answer.json()
  return {
    status: answer.statusCode,
    body,
    emails: body.users?.map(({ email }) => email),
    total: answer.headers['x-total-count'],
    link: answer.headers.link,
  }
}

interface NewUser {
  readonly email?: string
  readonly phone?: string
  readonly name?: unknown
}

/** Creates users of an audience in few statements, each a second after the previous one. */
async function seedUsers(aud: string, users: readonly NewUser[]): Promise<void> {
  const values = users.map(({ email, phone, name }, order) => ({
    id: randomUUID(),
    aud,
    role: 'authenticated',
    email: email ?? null,
    phone: phone ?? null,
    raw_user_meta_data: name === undefined ? {} : { full_name: name },
    created_at: new Date(Date.UTC(2026, 0, 1) + order * 1_000),
  }))
  for (let start = 0; start < values.length; start += 1_000) {
    await test.deps.db
      .insertInto('users')
      .values(values.slice(start, start + 1_000))
      .execute()
  }
}

/** Follows the cursor to the end. @returns all emails, page by page */
async function readAll(query: string, aud: string): Promise<string[][]> {
  const pages: string[][] = []
  let url: string | undefined = `?cursor=&${query}`
  while (url !== undefined) {
    const { emails, link } = await list(url, { 'x-jwt-aud': aud })
    pages.push(emails)
    url = /<\/admin\/users(\?[^>]*)>/.exec(String(link))?.[1]
  }
  return pages
}

describe('GET /admin/users', () => {
  it('200: lists pages, newest first, with a total and links that clients can parse', async () => {
    await seedUsers('paged', [{ email: 'p1@x.y' }, { email: 'p2@x.y' }, { email: 'p3@x.y' }])
    await test.deps.db
      .insertInto('users')
      .values({ id: randomUUID(), aud: 'paged', role: '', email: 'staged@x.y', staged_at: new Date() })
      .execute()
    const headers = { 'x-jwt-aud': 'paged' }
    const listed = (email: string) => userBody({ aud: 'paged', email, app_metadata: {} })
    const all = await list('', headers)
    expect(all).toEqual({
      status: 200,
      body: {
        users: [listed('p3@x.y'), listed('p2@x.y'), listed('p1@x.y')],
        aud: 'paged',
      },
      emails: ['p3@x.y', 'p2@x.y', 'p1@x.y'],
      total: '3',
      link: '</admin/users?page=1&per_page=50>; rel="last"',
    })
    expect(all.link).toBe('</admin/users?page=1&per_page=50>; rel="last"')
    const first = await list('?per_page=2&page=&filter=X.y,', headers)
    expect(first).toEqual({
      status: 200,
      body: { users: [], aud: 'paged' },
      emails: [],
      total: '0',
      link: '</admin/users?page=1&per_page=2&filter=X.y%2C>; rel="last"',
    })
    const second = await list('?per_page=2&filter=x.Y&sort=created_at+asc', headers)
    const rest = 'per_page=2&filter=x.Y&sort=created_at%20asc'
    expect(second).toEqual({
      status: 200,
      body: {
        users: [listed('p1@x.y'), listed('p2@x.y')],
        aud: 'paged',
      },
      emails: ['p1@x.y', 'p2@x.y'],
      total: '3',
      link: `</admin/users?page=2&${rest}>; rel="next", </admin/users?page=2&${rest}>; rel="last"`,
    })
    expect(await list('?page=2&per_page=2', headers)).toEqual({
      status: 200,
      body: { users: [listed('p1@x.y')], aud: 'paged' },
      emails: ['p1@x.y'],
      total: '3',
      link: '</admin/users?page=2&per_page=2>; rel="last"',
    })
    expect(await list('?page=9&per_page=2', headers)).toEqual({
      status: 200,
      body: { users: [], aud: 'paged' },
      emails: [],
      total: '3',
      link: '</admin/users?page=2&per_page=2>; rel="last"',
    })
    expect((await list('', { 'x-jwt-aud': 'nobody' })).link).toBe('</admin/users?page=1&per_page=50>; rel="last"')
  })

  it('200: lists the same record as GET /admin/users/{user_id}', async () => {
    await seedUsers('alone', [{ email: 'alone@x.y', name: 'A User' }])
    const { body } = await list('', { 'x-jwt-aud': 'alone' })
    const answer = await test.app.inject({ url: `/admin/users/${body.users[0]?.id}`, headers: OPERATOR })
    expect(body.users).toEqual([answer.json()])
  })

  it('200: follows a cursor in both directions and lists each user once, also users of the same moment', async () => {
    const moment = new Date()
    const values = Array.from({ length: 7 }, (_, i) => ({
      id: randomUUID(),
      aud: 'moment',
      role: '',
      email: `m${i}@x.y`,
      created_at: moment,
    }))
    await test.deps.db.insertInto('users').values(values).execute()
    for (const sort of ['created_at%20desc', 'created_at+asc']) {
      const pages = await readAll(`per_page=3&sort=${sort}`, 'moment')
      expect(pages.map((page) => page.length)).toEqual([3, 3, 1])
      expect(pages.flat().sort()).toEqual(values.map(({ email }) => email))
    }
    const whole = await list('?cursor=&per_page=7', { 'x-jwt-aud': 'moment' })
    expect([whole.status, whole.body.users.length, whole.total, whole.link]).toEqual([200, 7, undefined, undefined])
  })

  it('200: finds any part of an email, phone or name, and prefixes of one or two characters', async () => {
    await seedUsers('search', [
      { email: 'ada.lovelace+test@example.com', name: 'Ada Lovelace' },
      { email: 'grace_hopper@navy.mil', phone: '14155550100', name: "Grace O'Hopper 100%" },
      { email: 'ivan@example.org', name: 'Иван Ёлкин' },
      { phone: '4915112345678', name: ['Ada'] },
      { email: 'b@c.d', name: 'x'.repeat(5_000) },
    ])
    const find = async (filter: string) =>
      (await list(`?cursor=&filter=${encodeURIComponent(filter)}`, { 'x-jwt-aud': 'search' })).emails
    const [ada, grace, ivan, phone, b] = [
      'ada.lovelace+test@example.com',
      'grace_hopper@navy.mil',
      'ivan@example.org',
      '',
      'b@c.d',
    ]
    expect(await find('LOVE')).toEqual([ada])
    expect(await find('example')).toEqual([ivan, ada])
    expect(await find('+test@')).toEqual([ada])
    expect(await find('e_h')).toEqual([grace])
    expect(await find('100%')).toEqual([grace])
    expect(await find("'hop")).toEqual([grace])
    expect(await find('55550')).toEqual([grace])
    expect(await find('ada')).toEqual([phone, ada])
    expect(await find('ван')).toEqual([ivan])
    expect(await find('@c.')).toEqual([b])
    expect(await find('xxxx')).toEqual([b])
    expect(await find('%%%')).toEqual([])
    expect(await find('___')).toEqual([])
    expect(await find('a')).toEqual([ada])
    expect(await find('g')).toEqual([grace])
    expect(await find('14')).toEqual([grace])
    expect(await find('Iv')).toEqual([ivan])
    expect(await find('Ив')).toEqual([ivan])
    expect(await find('ov')).toEqual([])
  })

  it('200: finds a changed user by the new values only, and a deleted user never', async () => {
    await seedUsers('changes', [{ email: 'before@x.y', name: 'Old Name' }])
    const headers = { 'x-jwt-aud': 'changes' }
    const { body } = await list('?filter=before', headers)
    const url = `/admin/users/${body.users[0]?.id}`
    const payload = { email: 'after@x.y', user_metadata: { full_name: 'New Name' } }
    await test.app.inject({ method: 'PUT', url, headers: OPERATOR, payload })
    expect((await list('?filter=before', headers)).emails).toEqual([])
    expect((await list('?filter=new+name', headers)).emails).toEqual(['after@x.y'])
    await test.app.inject({ method: 'DELETE', url, headers: OPERATOR })
    expect((await list('', headers)).emails).toEqual([])
  })

  it('200: lists a pending sign-up only after their first code', async () => {
    const { db } = test.deps
    await db
      .insertInto('users')
      .values({ id: randomUUID(), aud: 'late', role: '', email: 'late@x.y', staged_at: new Date() })
      .execute()
    expect((await list('?filter=late', { 'x-jwt-aud': 'late' })).emails).toEqual([])
    await db.updateTable('users').set({ staged_at: null }).where('email', '=', 'late@x.y').execute()
    expect((await list('?filter=late', { 'x-jwt-aud': 'late' })).emails).toEqual(['late@x.y'])
  })

  it('200: finds the same users whether it reads the list or the index of texts', async () => {
    const crowd = Array.from({ length: 10_500 }, (_, i) => ({ email: `${i < 400 ? 'old' : 'new'}${i}@x.y` }))
    await seedUsers('crowd', crowd)
    for (const [filter, per] of [
      ['old', 150],
      ['old', 400],
      ['@x', 5_000],
      ['1@x', 700],
    ] as const) {
      const expected = crowd
        .map(({ email }) => email)
        .filter((email) => email.includes(filter))
        .reverse()
      const pages = await readAll(`per_page=${Math.min(per, 1_000)}&filter=${encodeURIComponent(filter)}`, 'crowd')
      // A filter of two characters matches only prefixes.
      expect(pages.flat()).toEqual(filter.length < 3 ? [] : expected)
    }
    expect(await list('?filter=old&per_page=1&page=400', { 'x-jwt-aud': 'crowd' })).toEqual({
      status: 200,
      body: { users: [userBody({ aud: 'crowd', email: 'old0@x.y', app_metadata: {} })], aud: 'crowd' },
      emails: ['old0@x.y'],
      total: '400',
      link: '</admin/users?page=400&per_page=1&filter=old>; rel="last"',
    })
  })

  const cursorAt = (second: string) =>
    Buffer.from(`${second}.000000+00:00 00000000-0000-4000-8000-000000000000`).toString('base64url')
  // ASVS 1.4.2
  it.each([
    ['page=0', 'Bad Pagination Parameters: page must be an integer between 1 and 1000000000'],
    ['page=x', 'Bad Pagination Parameters: page must be an integer between 1 and 1000000000'],
    ['per_page=1001', 'Bad Pagination Parameters: per_page must be an integer between 1 and 1000'],
    ['cursor=&per_page=-1', 'Bad Pagination Parameters: per_page must be an integer between 1 and 1000'],
    ['cursor=x', 'Bad Pagination Parameters: cursor is none of this list'],
    [`cursor=${cursorAt('2026-02-30T00:00:00')}`, 'Bad Pagination Parameters: cursor is none of this list'],
    [`cursor=${cursorAt('2026-01-01T24:00:00')}`, 'Bad Pagination Parameters: cursor is none of this list'],
    [`cursor=${cursorAt('0000-01-01T00:00:00')}`, 'Bad Pagination Parameters: cursor is none of this list'],
    ['sort=email+asc', 'Bad Sort Parameters: "email asc"'],
    ['sort=created_at+up', 'Bad Sort Parameters: "created_at up"'],
    ['filter=%00', 'Text may not contain NUL characters or lone surrogates'],
  ])('400: refuses %s', async (query, text) => {
    const request = { method: 'GET', url: `/admin/users?${query}`, headers: OPERATOR } as const
    await failWith(test, request, [400, 'validation_failed', text])
  })
})
