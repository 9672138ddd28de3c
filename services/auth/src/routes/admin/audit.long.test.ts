import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../../test/auth-app.ts'
import { anyId } from '../../../test/bodies.ts'
import { expectFailure as failWith } from '../../../test/expect-failure.ts'
import { OPERATOR } from '../../../test/forged-token.ts'

let test: TestApp
beforeAll(async () => {
  test = await openTestApp({ settings: { AUTH_DB_SCHEMA: 'accounts' } })
  const actors = [
    ['ada@example.com', 'Ada Lovelace'],
    ['14155550100', undefined],
  ] as const
  const actions = [
    ['login', 'account'],
    ['logout', 'account'],
    ['user_deleted', 'team'],
  ] as const
  const events = actors.flatMap((actor) => actions.map((action) => [...actor, ...action] as const))
  for (const [order, [actor_username, actor_name, action, log_type]] of events.entries()) {
    const payload = { actor_username, ...(actor_name ? { actor_name } : {}), action, log_type, order }
    const created_at = new Date(Date.UTC(2026, 0, 1) + order)
    await test.deps.db
      .insertInto('audit_log_entries')
      .values({ action, log_type, payload, created_at, ip_address: '192.0.2.1' })
      .execute()
  }
})
afterAll(() => test.close())

async function list(query = '') {
  const answer = await test.app.inject({ url: `/admin/audit${query}`, headers: OPERATOR })
  const body: { payload: { order: number } }[] = answer.json()
  return {
    status: answer.statusCode,
    body,
    orders: answer.statusCode === 200 ? body.map(({ payload }) => payload.order) : [],
    total: answer.headers['x-total-count'],
    link: answer.headers.link,
  }
}

describe('GET /admin/audit', () => {
  it('200: lists the newest entries first, with a total and page links', async () => {
    const all = await list()
    const latest = {
      id: anyId,
      payload: { actor_username: '14155550100', action: 'user_deleted', log_type: 'team', order: 5 },
      created_at: '2026-01-01T00:00:00.005000+00:00',
      ip_address: '192.0.2.1',
    }
    const rest = all.body.slice(1)
    const link = '</admin/audit?page=1&per_page=50>; rel="last"'
    expect(all).toEqual({ status: 200, body: [latest, ...rest], orders: [5, 4, 3, 2, 1, 0], total: '6', link })
    const second = await list('?page=2&per_page=2&query=action:log')
    expect(second).toEqual({
      status: 200,
      body: all.body.slice(-2),
      orders: [1, 0],
      total: '4',
      link: '</admin/audit?page=2&per_page=2&query=action%3Alog>; rel="last"',
    })
  })

  it.each([
    ['author:ADA@', [2, 1, 0]],
    ['author:love', [2, 1, 0]],
    ['author:1415', [5, 4, 3]],
    ['action:login', [3, 0]],
    ['type:team', [5, 2]],
    ['author:%', []],
    ['action:', [5, 4, 3, 2, 1, 0]],
  ])('200: finds the entries of the query %s', async (query, orders) => {
    const found = await list(`?query=${encodeURIComponent(query)}`)
    expect([found.status, found.orders, found.total]).toEqual([200, orders, String(orders.length)])
  })

  it.each([
    ['query=who:x', 'Invalid query scope: who:x'],
    ['query=author', 'Invalid query scope: author'],
    ['page=-1', 'Bad Pagination Parameters: page must be an integer between 1 and 1000000000'],
  ])('400: refuses %s', async (query, text) => {
    const request = { method: 'GET', url: `/admin/audit?${query}`, headers: OPERATOR } as const
    await failWith(test, request, [400, 'validation_failed', text])
  })
})
