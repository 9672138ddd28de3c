import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Application } from '../src/endpoints.ts'
import { framework, moduleFolder } from './start.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

/** The modules in the README, in order. Their imports are absolute, so that a folder elsewhere can resolve them. */
const samples = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) =>
  text.replace('"@trestle/endpoints"', JSON.stringify(framework)).replace('"zod"', `"${import.meta.resolve('zod')}"`),
)
const names = ['first-run', 'list', 'list-and-one', 'upload', 'guards']

let folder: ReturnType<typeof moduleFolder>
let app: Application
beforeAll(async () => {
  folder = moduleFolder(Object.fromEntries(names.map((name, at) => [`${name}.ts`, samples[at] ?? ''])))
  app = new Application({ controllerPrefix: folder.path, strict: true })
  await app.ready()
})
afterAll(() => folder[Symbol.dispose]())

async function answer(method: string, path: string, init: { headers?: Record<string, string>; body?: object } = {}) {
  const response = await app.inject({ method, path, ...init })
  return [response.status, await response.json()]
}

it('every sample is tested', () => expect(samples).toHaveLength(names.length))

describe('first run', () => {
  const commands = [...readme.matchAll(/^curl localhost:8000(\S*)(?: -d '(.*)')? +# (".*")$/gm)]

  it('no command of the first run is left out of the tests below', () => expect(commands).toHaveLength(3))

  it.each(commands.map(([, path = '', form, value = '']) => [path, form, value] as const))(
    '"%s" with the form %s is answered with %s',
    async (path, form, value) => {
      const init = form === undefined ? {} : { body: new URLSearchParams(form) }
      const method = form === undefined ? 'GET' : 'POST'
      expect(await answer(method, `/first-run${path}`, init)).toEqual([200, JSON.parse(value)])
    },
  )
})

it('a declared handler gets converted values', async () => {
  expect(await answer('GET', '/list/products?limit=1')).toEqual([200, [{ id: 1, title: 'Tea' }]])
  expect(await answer('GET', '/list/products?ids=2,3')).toEqual([200, [{ id: 2, title: 'Cup' }]])
  expect(await answer('GET', '/list/products?limit=0')).toEqual([
    400,
    {
      error: {
        issues: [{ path: 'limit', message: 'must be at least 1' }],
        type: 'VALIDATION_ERROR',
        description: 'limit: must be at least 1',
      },
      statusCode: 400,
    },
  ])
})

it('the number of positionals chooses a declaration', async () => {
  expect(await answer('GET', '/list-and-one/products')).toEqual([200, ['Tea', 'Cup']])
  expect(await answer('GET', '/list-and-one/products/2')).toEqual([200, { id: 2, title: 'Cup' }])
})

it('errors have the envelope of the README', async () => {
  const envelope = JSON.parse(/^```json\n(.*?)^```$/ms.exec(readme)?.[1] ?? '')
  expect(await answer('GET', '/list-and-one/products/13')).toEqual([404, envelope])
})

it('a raw handler reads a form part by part', async () => {
  const body = new FormData()
  body.append('scan', new Blob(['12345']), 'scan.png')
  expect(await answer('POST', '/upload/uploads', { body })).toEqual([
    200,
    [{ name: 'scan', file: 'scan.png', bytes: 5 }],
  ])
})

it.each([
  [200, 'ann-token', { cancelled: 7, by: { id: 'ann', scopes: ['write'] } }],
  [
    403,
    'bob-token',
    { statusCode: 403, error: { type: 'INSUFFICIENT_PRIVILEGES', description: 'This needs the scope write' } },
  ],
  [
    401,
    'eve-token',
    { statusCode: 401, error: { type: 'UNAUTHENTICATED', description: 'Authentication is required' } },
  ],
])('%i: guards answer %s', async (status, token, body) => {
  const headers = { authorization: `Bearer ${token}` }
  expect(await answer('DELETE', '/guards/orders/7', { headers })).toEqual([status, body])
})
