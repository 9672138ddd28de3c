import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startInventory, type TestInventory } from './start-inventory.ts'

let inventory: TestInventory
beforeAll(async () => {
  inventory = await startInventory()
})
afterAll(() => inventory.close())

/** The curl commands of the README's first run, as method, path and body. */
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const commands = [...readme.matchAll(/^curl '?127\.0\.0\.1:8080(\/[^\s']*)'?(?: .*-d '(.*)')?$/gm)].map(
  ([, url = '', body]) => [body === undefined ? 'GET' : 'POST', url, body] as const,
)

it('every command of the first run succeeds, in the order of the README', async () => {
  expect(commands).toHaveLength(5)
  for (const [method, url, body] of commands) {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await inventory.app.inject({
      method,
      url,
      headers,
      ...(body === undefined ? {} : { payload: body }),
    })
    expect([url, response.statusCode]).toEqual([url, method === 'GET' ? 200 : 201])
  }
})
