import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { problemsOf, shop } from './shop-tree.ts'
import { urlFiles } from './url-files.ts'

const route = (text: string) => ({
  'services/shop/src/routes/more.ts': `export const moreRoutes = (app) => {\n${text}\n}\n`,
})
const missing = (row: string) => `services/shop/README.md does not list ${row} in routes/more.ts`

it.each([
  ['/carts', 'carts.ts'],
  ['/carts/:cartId/line_items', 'carts/line-items.ts'],
  ['/', 'home.ts'],
  ['/ready', 'ready.ts'],
  ['/openapi.json', 'openapi.json.ts'],
  ['/docs/js/scalar.js', 'docs/js/scalar.js.ts'],
  ['/.well-known/jwks.json', 'well-known/jwks.json.ts'],
])('refuses %s outside routes/%s', async (url, place) => {
  expect(await problemsOf(urlFiles, route(`  app.get('${url}', () => 1)`))).toEqual([
    `services/shop/src/routes/more.ts:2 ${url} belongs in services/shop/src/routes/${place}`,
    missing(`GET ${url}`),
  ])
})

it('reads app.route() with one method or several', async () => {
  expect(
    await problemsOf(urlFiles, route("  app.route({ method: ['GET', 'PUT'], url: '/more/:id', handler: app })")),
  ).toEqual([missing('GET /more/:id'), missing('PUT /more/:id')])
})

it('reads addChangeRoutes() as a question and its change', async () => {
  expect(await problemsOf(urlFiles, route("  addChangeRoutes(app, '/more/:id/:change', {})"))).toEqual([
    missing('GET /more/:id/:change'),
    missing('POST /more/:id/:change'),
  ])
})

it('refuses one URL in two files', async () => {
  expect(await problemsOf(urlFiles, route("  app.put('/items', () => 1)"))).toEqual([
    'services/shop/src/routes/more.ts:2 /items belongs in services/shop/src/routes/items.ts',
    'services/shop/src/routes/more.ts:2 /items is registered in services/shop/src/routes/items.ts too',
    missing('PUT /items'),
  ])
})

it('refuses a method that is registered twice', async () => {
  const twice = "  app.get('/more', () => 1)\n  app.get('/more', () => 2)"
  expect(await problemsOf(urlFiles, route(twice))).toEqual([
    'services/shop/src/routes/more.ts:3 GET /more is registered twice',
    missing('GET /more'),
  ])
})

it.each(['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'all'])(
  'takes app.%s() for a route',
  async (method) => {
    expect(await problemsOf(urlFiles, route(`  app.${method}('/more', () => 1)`))).toEqual([
      missing(`${method.toUpperCase()} /more`),
    ])
  },
)

it.each(["app.get('/more')", "app.get('more', () => 1)", "app.listen('/more', () => 1)"])(
  'finds no URL of the API in %s',
  async (text) => {
    expect(await problemsOf(urlFiles, route(`  ${text}`))).toEqual([])
  },
)

it.each(['plugins/guard.ts', 'use-cases/buy.ts', 'commands/serve.ts', 'routes/guard.ts', 'guard.ts'])(
  'refuses a URL that %s compares with',
  async (file) => {
    const guard = "export const guard = (request) => request.url === '/items'\n"
    expect(await problemsOf(urlFiles, { [`services/shop/src/${file}`]: guard })).toEqual([
      `services/shop/src/${file}:1 /items is written here and in services/shop/src/routes/items.ts; a URL is written once`,
    ])
  },
)

it('accepts a URL in config or a module, which make links', async () => {
  const files = {
    'services/shop/src/items/item-link.ts': "export const link = (base) => base + '/items'\n",
    'services/shop/src/config/link.ts': "export const path = '/items'\n",
    'services/shop/src/config.ts': "export const path = '/items'\n",
  }
  expect(await problemsOf(urlFiles, files)).toEqual([])
})

it('reads the URLs of controllers from the framework, and looks for them elsewhere', async () => {
  const framework = pathToFileURL(join(import.meta.dirname, '../../packages/endpoints/src/endpoints.ts')).href
  const files = {
    'services/shop/src/controllers/carts.ts':
      `import { Controller } from '${framework}'\n` +
      'export class Default extends Controller { GET(cartId) { return cartId } }\n' +
      'export class Import extends Controller { POST() {} }\n',
    'services/shop/src/plugins/guard.ts': "export const guard = (request) => request.url === '/carts/import'\n",
    'services/shop/README.md': `${shop['services/shop/README.md']}| \`GET /carts/:cartId\` | \`controllers/carts.ts\` |\n`,
  }
  expect(await problemsOf(urlFiles, files)).toEqual([
    'services/shop/src/plugins/guard.ts:1 /carts/import is written here and in services/shop/src/controllers/carts.ts; a URL is written once',
    'services/shop/README.md does not list POST /carts/import in controllers/carts.ts',
  ])
})

it('refuses a README that lists another URL, or is missing', async () => {
  const more = `${shop['services/shop/README.md']}| \`GET /more\` | \`routes/more.ts\` |\n`
  expect(await problemsOf(urlFiles, { 'services/shop/README.md': more })).toEqual([
    'services/shop/README.md lists GET /more in routes/more.ts, which is not registered',
  ])
  expect(await problemsOf(urlFiles, { 'services/shop/README.md': undefined })).toEqual([
    'services/shop/README.md is missing; it holds the table of URLs and files',
  ])
})
