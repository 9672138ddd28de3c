import { expect, it } from 'vitest'
import { loneStatuses } from './lone-statuses.ts'
import { problemsOf } from './shop-tree.ts'

const ROUTE = 'services/auth/src/routes/carts.test.ts'
const PAGE = 'services/console/src/routes/carts.test.ts'
const OTHER = 'packages/carts/test/carts.test.ts'

const refusalOf = (path: string, line = 2) => [
  `${path}:${line} the status alone says little of an answer: compare the body too`,
]

it.each([
  [ROUTE, "it('404: knows no cart', async () => {\n  expect((await get()).statusCode).toBe(404)\n})\n"],
  [ROUTE, "it('200: empties a cart', async () => {\n  expect((await get()).statusCode).toBe(200)\n})\n"],
  [ROUTE, "it.each([1])('404: knows no cart %s', async () => {\n  expect(answer.statusCode).toEqual(404)\n})\n"],
  [ROUTE, 'it(`503: waits`, async () => {\n  expect(status).toBe(503)\n  expect(answer.headers).toEqual({})\n})\n'],
  [PAGE, "it('404: knows no cart', async () => {\n  expect(page.status).toBe(404)\n})\n"],
  [OTHER, "it('serves carts', async () => {\n  expect((await fetch(url)).status).toBe(200)\n})\n"],
])('refuses a status alone in %s: %j', async (path, text) => {
  expect(await problemsOf(loneStatuses, { [path]: text })).toEqual(refusalOf(path))
})

it.each([
  ['of no variable', "  expect((await get('b')).statusCode).toBe(404)"],
  ['of an answer without more', '  expect(refused.statusCode).toBe(409)'],
  ['beside its headers', '  expect(refused.status).toBe(409); expect(refused.headers.get("a")).toBe("b")'],
  ['of one of several answers', '  expect(answers.map(({ status }) => status)).toEqual([201, 429])'],
  ['of sorted answers', '  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 409])'],
  ['beside a header in one list', "  expect([refused.status, refused.headers.allow]).toEqual([405, 'GET'])"],
  ['beside another status in one list', '  expect([(await get()).statusCode, ended.statusCode]).toEqual([400, 200])'],
  ['beside a fact in one list', '  expect([status, isKept]).toEqual([400, true])'],
  ['of several answers beside a count', '  expect([all.map(({ status }) => status), 2]).toEqual([[409, 412], 2])'],
])('refuses the status %s where it is a refusal, although the test compares something else', async (_what, line) => {
  const text = `it('serves', async () => {\n${line}\n  expect(await list()).toEqual([])\n})\n`
  expect(await problemsOf(loneStatuses, { [OTHER]: text })).toEqual(refusalOf(OTHER))
})

it('finds each status of a test that compares nothing else', async () => {
  const text = "it('serves', async () => {\n  expect(a.status).toBe(200)\n  expect(b.status).toBe(404)\n})\n"
  expect(await problemsOf(loneStatuses, { [OTHER]: text })).toEqual([...refusalOf(OTHER), ...refusalOf(OTHER, 3)])
})

it.each([
  [
    'with its body',
    ROUTE,
    "it('404: knows no cart', () => { expect(a.statusCode).toBe(404); expect(a.json()).toEqual(b) })",
  ],
  ['in one value', ROUTE, "it('404: knows no cart', () => { expect(statusAndBody(a)).toEqual([404, b]) })"],
  [
    'of another request',
    ROUTE,
    "it('404: knows no cart', () => { expect(again.statusCode).toBe(200); expect(a).toEqual(b) })",
  ],
  [
    'in another test',
    ROUTE,
    "it('404: knows no cart', () => { expect(a).toEqual(b) })\nexpect(a.statusCode).toBe(404)",
  ],
  ['of an answer without a body', ROUTE, "it('204: empties a cart', () => { expect(a.statusCode).toBe(204) })"],
  [
    'of a page beside its path',
    PAGE,
    "it('404: knows no cart', () => { expect(a.status).toBe(404); expect(a.path).toBe('/') })",
  ],
  [
    'of a refusal with its body',
    OTHER,
    "it('serves', () => { expect(a.status).toBe(409); expect(a.json()).toEqual(b); expect(list()).toEqual([]) })",
  ],
  [
    'of a refusal in one value',
    OTHER,
    "it('serves', () => { expect(a.statusCode).toBe(409); expect(statusAndBody(a)).toEqual([409, b]) })",
  ],
  ['in a list with its body', OTHER, "it('serves', () => { expect([status, text, 1]).toEqual([422, 'no', 1]) })"],
  [
    'in a list before its body',
    OTHER,
    "it('serves', () => { expect([a.status, a.headers.b]).toEqual([405, 1]); expect(a.json()).toEqual(b) })",
  ],
  [
    'of refusals with their bodies',
    OTHER,
    "it('serves', () => { expect(all.map(({ status }) => status)).toEqual([201, 429]); expect(all.at(-1)?.body).toBe(b) })",
  ],
  [
    'of successes on the way',
    OTHER,
    "it('serves', () => { expect(all.map(({ status }) => status)).toEqual([201, 201]); expect(list()).toEqual([]) })",
  ],
  ['of a process', OTHER, "it('fails', () => { expect(run.status).toBe(1) })"],
  ['below a bound', OTHER, "it('never fails', () => { expect(status).toBeLessThan(500) })"],
  [
    'beside what is polled',
    OTHER,
    "it('comes back', () => { expect(status).toBe(200); expect.poll(list).toEqual([]) })",
  ],
])('allows the status %s', async (_what, path, text) => {
  expect(await problemsOf(loneStatuses, { [path]: text })).toEqual([])
})
