import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type HomePage, startHomePage } from './home-page.ts'
import { planStack } from './settings/plan.ts'

let home: HomePage
beforeAll(async () => {
  const env = { AUTH_METRICS_ENABLED: 'false' }
  const plan = planStack({ root: '/repo', program: 'main.ts', env, names: [], isWatched: false })
  home = await startHomePage({ ...plan, homePort: 0 })
})
afterAll(() => home.close())

function call(path: string, { method = 'GET', host = `localhost:${home.port}` } = {}) {
  return new Promise<{ readonly status: number | undefined; readonly body: string }>((resolve) => {
    request({ port: home.port, host: '127.0.0.1', path, method, headers: { host } }, async (response) => {
      resolve({ status: response.statusCode, body: await text(response) })
    }).end()
  })
}

it('200: links to everything that runs', async () => {
  const { status, body } = await call('/?code=1')
  expect(status).toBe(200)
  expect([...body.matchAll(/<a href="([^"]+)"/g)].map(([, href]) => href)).toEqual([
    'http://localhost:8080',
    'http://localhost:8080/docs',
    'http://localhost:8080/ready',
    'http://localhost:9102/metrics',
    'http://localhost:8081',
    'http://localhost:8081/docs',
    'http://localhost:8081/ready',
    'http://localhost:8082',
    'http://localhost:8082/docs',
    'http://localhost:8082/ready',
    'http://localhost:9101/metrics',
    'http://localhost:8025',
  ])
})

it.each([
  ['/favicon.ico', {}, 404, 'Not found. The page of the stack is at http://localhost:8083/\n'],
  ['/', { method: 'POST' }, 405, 'Only GET\n'],
  ['/', { host: 'evil.example' }, 421, 'Ask for localhost\n'],
])('answers %s with %j by %d', async (path, options, status, body) => {
  expect(await call(path, options)).toEqual({ status, body })
})
