import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { checkLayout } from './check-layout.ts'

const sound = {
  '.env.example': '# Port of the API.\n# SHOP_PORT=8090\n',
  'services/shop/README.md':
    '| `SHOP_PORT` | 8090 |\n\n| `GET /items`, `POST /items` | `routes/items.ts` |\n| `GET /items/:itemId` | `routes/items.ts` |\n',
  'services/shop/src/config.ts': 'export const settings = { PORT: 8090 }\nexport const port = process.env.SHOP_PORT\n',
  'services/shop/src/app.ts': "import { itemsRoutes } from './routes/items.ts'\nexport const app = itemsRoutes\n",
  'services/shop/src/routes/items.ts':
    "import { listItems } from '../use-cases/list-items.ts'\n" +
    "export const itemsRoutes = (app) => {\n  app.get('/items', listItems)\n  app.post('/items', listItems)\n" +
    "  app.get('/items/:itemId', listItems)\n  app.get('/health', listItems)\n}\n",
  'services/shop/src/use-cases/list-items.ts':
    "import { findItems } from '../items/item-repository.ts'\nexport const listItems = findItems\n",
  'services/shop/src/items/item-repository.ts':
    "import { sql } from 'kysely'\nimport { connect } from '@trestle/database/connect.ts'\nexport const findItems = [sql, connect]\n",
  'packages/database/src/connect.ts': 'export const connect = (now) => now\n',
  'migrations/shop.ts':
    "import { createItems } from './shop/0001-create-items.ts'\nexport const shopMigrations = { '0001-create-items': createItems }\n",
  'migrations/shop/0001-create-items.ts':
    "import { sql } from 'kysely'\nexport const createItems = (names) => [sql, names.id('items'), sql`id int CONSTRAINT items_pkey PRIMARY KEY`]\n",
}

const roots: string[] = []

function writeTree(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'layout-'))
  roots.push(root)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

/** What the check says of the sound tree with some files replaced or added. */
async function problemsWith(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const problems = await checkLayout(writeTree({ ...sound, ...files }))
  return problems.map(({ path, line, message }) => `${path}${line === undefined ? '' : `:${line}`} ${message}`)
}

afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true })
})

it('accepts a tree that keeps every rule', async () => {
  expect(await problemsWith({})).toEqual([])
})

it('leaves tests out of the rules for production code', async () => {
  const test = "import '@trestle/other/app.ts'\nimport '../app.ts'\nexport const now = Date.now()\n"
  expect(await problemsWith({ 'services/shop/src/items/item.test.ts': test })).toEqual([])
})

it.each([
  [`actions/checkout@${'a'.repeat(40)} # v4.2.2`, true],
  [`docker/build-push-action@${'a'.repeat(40)}`, false],
  ['actions/checkout@v4', false],
  ['./.github/actions/own', true],
])('an action named %s: %s', async (action, isPinned) => {
  const path = '.github/workflows/ci.yml'
  const problems = isPinned ? [] : [`${path}:2 names ${action} by no commit with its version`]
  expect(await problemsWith({ [path]: `steps:\n  - uses: ${action}\n` })).toEqual(problems)
})

it.each([
  ['*\n!services\nservices/*/test\n**/*.test.ts\n', []],
  ['**/routes\n', ['.dockerignore **/routes leaves services/shop/src/routes/items.ts out of the images']],
])('images without %j', async (ignored, problems) => {
  expect(await problemsWith({ '.dockerignore': ignored })).toEqual(problems)
})

describe('the framework', () => {
  const core = 'packages/endpoints/src/core.ts'
  const message = 'the core of the framework imports zod, acorn and multipasta alone'

  it.each([
    ["import { readFileSync } from 'node:fs'\n", [`${core}:1 ${message} (node:fs)`]],
    ["import Fastify from 'fastify'\n", [`${core}:1 ${message} (fastify)`]],
    [
      "export { parse } from 'acorn'\nimport { make } from 'multipasta'\nimport { z } from 'zod'\nimport './other.ts'\n",
      [],
    ],
    ["import type { FastifyInstance } from 'fastify'\nexport type { Server } from 'node:http'\n", []],
    ['export const load = (url) => import(url)\n', []],
  ])('%j', async (text, problems) => {
    expect(await problemsWith({ [core]: text })).toEqual(problems)
  })

  it('leaves its program, its examples and its scripts alone', async () => {
    const text = "import { readFileSync } from 'node:fs'\nexport const now = [readFileSync, new Date()]\n"
    const files = ['src/main.ts', 'examples/a/server.ts', 'scripts/b.ts'].map((file) => [
      `packages/endpoints/${file}`,
      text,
    ])
    expect(await problemsWith(Object.fromEntries(files))).toEqual([])
  })
})

describe('names', () => {
  it('lets index.ts be a module that a URL is mapped to', async () => {
    expect(await problemsWith({ 'services/shop/src/controllers/index.ts': 'export {}\n' })).toEqual([])
    expect(await problemsWith({ 'services/shop/src/controllers/utils.ts': 'export {}\n' })).toHaveLength(1)
  })

  it.each(['index', 'utils', 'helpers', 'misc', 'shared', 'types'])(
    'refuses a file or folder called %s',
    async (word) => {
      const message = `"${word}" names no subject; call it by what it holds`
      const file = `packages/database/src/${word}.ts`
      const folder = `packages/database/src/${word}/text.ts`
      expect(await problemsWith({ [file]: 'export {}\n' })).toEqual([`${file} ${message}`])
      expect(await problemsWith({ [folder]: 'export {}\n' })).toEqual([`${folder} ${message}`])
    },
  )
})

describe('URLs and their files', () => {
  const route = (text: string) => ({
    'services/shop/src/routes/more.ts': `export const moreRoutes = (app) => {\n${text}\n}\n`,
  })
  const missing = (row: string) => `services/shop/README.md does not list ${row} in routes/more.ts`

  it.each([
    ['/carts', 'carts.ts'],
    ['/carts/:cartId/line_items', 'carts/line-items.ts'],
    ['/', 'home.ts'],
  ])('refuses %s outside routes/%s', async (url, place) => {
    expect(await problemsWith(route(`  app.get('${url}', () => 1)`))).toEqual([
      `services/shop/src/routes/more.ts:2 ${url} belongs in services/shop/src/routes/${place}`,
      missing(`GET ${url}`),
    ])
  })

  it('reads app.route() with one method or several', async () => {
    expect(
      await problemsWith(route("  app.route({ method: ['GET', 'PUT'], url: '/more/:id', handler: app })")),
    ).toEqual([missing('GET /more/:id'), missing('PUT /more/:id')])
  })

  it('refuses one URL in two files', async () => {
    expect(await problemsWith(route("  app.put('/items', () => 1)"))).toEqual([
      'services/shop/src/routes/more.ts:2 /items belongs in services/shop/src/routes/items.ts',
      'services/shop/src/routes/more.ts:2 /items is registered in services/shop/src/routes/items.ts too',
      missing('PUT /items'),
    ])
  })

  it('refuses a method that is registered twice', async () => {
    const twice = "  app.get('/more', () => 1)\n  app.get('/more', () => 2)"
    expect(await problemsWith(route(twice))).toEqual([
      'services/shop/src/routes/more.ts:3 GET /more is registered twice',
      missing('GET /more'),
    ])
  })

  it.each(['plugins/guard.ts', 'guard.ts'])('refuses a URL that %s compares with', async (file) => {
    const guard = "export const guard = (request) => request.url === '/items'\n"
    expect(await problemsWith({ [`services/shop/src/${file}`]: guard })).toEqual([
      `services/shop/src/${file}:1 /items is written here and in services/shop/src/routes/items.ts; a URL is written once`,
    ])
  })

  it('accepts a URL that config or a noun makes a link of', async () => {
    const files = {
      'services/shop/src/items/item-link.ts': "export const link = (base) => base + '/items'\n",
      'services/shop/src/config/link.ts': "export const path = '/items'\n",
    }
    expect(await problemsWith(files)).toEqual([])
  })

  it('accepts any file for a well-known URL', async () => {
    const files = {
      'services/shop/src/routes/well-known/keys.ts':
        "export const keys = (app) => app.get('/.well-known/jwks.json', () => 1)\n",
      'services/shop/README.md': `${sound['services/shop/README.md']}| \`GET /.well-known/jwks.json\` | \`routes/well-known/keys.ts\` |\n`,
    }
    expect(await problemsWith(files)).toEqual([])
  })

  it('reads the URLs of controllers from the framework, and looks for them elsewhere', async () => {
    const framework = pathToFileURL(join(import.meta.dirname, '../packages/endpoints/src/endpoints.ts')).href
    const files = {
      'services/shop/src/controllers/carts.ts':
        `import { Controller } from '${framework}'\n` +
        'export class Default extends Controller { GET(cartId) { return cartId } }\n' +
        'export class Import extends Controller { POST() {} }\n',
      'services/shop/src/plugins/guard.ts': "export const guard = (request) => request.url === '/carts/import'\n",
      'services/shop/README.md': `${sound['services/shop/README.md']}| \`GET /carts/:cartId\` | \`controllers/carts.ts\` |\n`,
    }
    expect(await problemsWith(files)).toEqual([
      'services/shop/src/plugins/guard.ts:1 /carts/import is written here and in services/shop/src/controllers/carts.ts; a URL is written once',
      'services/shop/README.md does not list POST /carts/import in controllers/carts.ts',
    ])
  })

  it('refuses a README that lists another URL, or is missing', async () => {
    const more = `${sound['services/shop/README.md']}| \`GET /more\` | \`routes/more.ts\` |\n`
    expect(await problemsWith({ 'services/shop/README.md': more })).toEqual([
      'services/shop/README.md lists GET /more in routes/more.ts, which is not registered',
    ])
    const { 'services/shop/README.md': _, ...rest } = sound
    const problems = await checkLayout(writeTree(rest))
    expect(problems.map(({ message }) => message)).toEqual([
      'is missing; it holds the table of URLs and files',
      'does not list SHOP_PORT',
    ])
  })
})

describe('arrows', () => {
  it.each([
    ['services/shop/src/items/item.ts', '../routes/items.ts', 'a folder of a noun never imports routes'],
    ['services/shop/src/items/item.ts', '../plugins/guard.ts', 'a folder of a noun never imports plugins'],
    ['services/shop/src/items/item.ts', '../use-cases/list-items.ts', 'a folder of a noun never imports use-cases'],
    ['services/shop/src/items/item.ts', 'fastify', 'only routes and plugins know HTTP (fastify)'],
    ['services/shop/src/items/item.ts', '../app.ts', 'nothing below imports app.ts'],
    ['services/shop/src/items/item.ts', '../commands/serve.ts', 'a folder of a noun never imports commands'],
    ['services/shop/src/commands/serve.ts', '../main.ts', 'nothing imports main.ts'],
    ['services/shop/src/use-cases/buy.ts', '../routes/items.ts', 'a use case never imports routes'],
    ['services/shop/src/use-cases/buy.ts', '../plugins/guard.ts', 'a use case never imports plugins'],
    ['services/shop/src/use-cases/buy.ts', '@fastify/cors', 'only routes and plugins know HTTP (@fastify/cors)'],
    ['services/shop/src/plugins/guard.ts', '../routes/items.ts', 'a plugin never imports routes'],
    ['services/shop/src/routes/carts.ts', 'kysely', 'a route knows no SQL (kysely)'],
    ['services/shop/src/routes/carts.ts', 'pg', 'a route knows no SQL (pg)'],
    ['services/other/src/app.ts', '@trestle/shop/app.ts', 'a service never imports another service (shop)'],
    ['packages/database/src/more.ts', '@trestle/shop/app.ts', 'a package never imports a service (shop)'],
    [
      'packages/database/src/more.ts',
      '../../common/src/x.ts',
      'a relative import never leaves its package (../../common/src/x.ts)',
    ],
    ['migrations/shop/0001-create-items.ts', 'pg', 'a migration imports Kysely alone (pg)'],
  ])('%s may not import %s', async (path, specifier, message) => {
    const problems = await problemsWith({ [path]: `import type { X } from '${specifier}'\nexport type Y = X\n` })
    expect(problems).toContain(`${path}:1 ${message}`)
  })

  it('lets a command build the app', async () => {
    const serve = "import { app } from '../app.ts'\nexport const serve = app\n"
    expect(await problemsWith({ 'services/shop/src/commands/serve.ts': serve })).toEqual([])
  })

  it('sees export … from and import() too', async () => {
    const text =
      "export { a } from 'fastify'\nexport * from 'fastify-plugin'\nexport const b = () => import('@fastify/cors')\n"
    expect(await problemsWith({ 'services/shop/src/items/item.ts': text })).toEqual([
      'services/shop/src/items/item.ts:1 only routes and plugins know HTTP (fastify)',
      'services/shop/src/items/item.ts:2 only routes and plugins know HTTP (fastify-plugin)',
      'services/shop/src/items/item.ts:3 only routes and plugins know HTTP (@fastify/cors)',
    ])
  })
})

describe('clock and environment', () => {
  it.each([
    ['process.env', 'export const port = process.env.PORT'],
    ['process.env', "import { env } from 'node:process'\nexport const port = env.PORT"],
    ['Date.now', 'export const now = Date.now()'],
    ['new Date()', 'export const now = new Date()'],
  ])('refuses %s in a noun', async (name, text) => {
    expect(await problemsWith({ 'services/shop/src/items/item.ts': `${text}\n` })).toEqual([
      `services/shop/src/items/item.ts:1 ${name} outside main.ts, deps.ts and config: take it as an argument`,
    ])
  })

  it('allows them in main.ts, deps.ts, config, the stack and the test package, and a date of a given time', async () => {
    const text = 'export const now = [Date.now(), new Date(), process.env.NOW]\n'
    const files = {
      'services/shop/src/main.ts': text,
      'services/shop/src/deps.ts': text,
      'services/shop/src/config/mail.ts': text,
      'packages/stack/src/main.ts': text,
      'packages/testing/src/fake-clock.ts': text,
      'services/shop/src/items/item.ts': 'export const at = (time) => new Date(time)\n',
    }
    expect(await problemsWith(files)).toEqual([])
  })
})

// ASVS 1.3.6
describe('calls of other servers', () => {
  const path = 'services/shop/src/items/item.ts'
  const refused = (what: string) => `${path}:1 ${what} calls past the guarded client: use packages/common/src/outbound`

  it.each([
    ["export const a = () => fetch('http://a')", 'fetch'],
    ['export const a = (call) => call(fetch)', 'fetch'],
    ['export const a = { send: fetch }', 'fetch'],
    ['export const a = globalThis.fetch', 'fetch'],
    ["export const a = new WebSocket('ws://a')", 'WebSocket'],
    ["import { request } from 'undici'", 'undici'],
    ["export const a = () => import('undici')", 'undici'],
    ["import { request } from 'node:http'", 'node:http'],
    ["import { get } from 'https'", 'https'],
    ["import http from 'node:http'", 'node:http'],
    ["import * as net from 'node:net'", 'node:net'],
    ["import { connect } from 'node:net'", 'node:net'],
    ["import { isIP, Socket } from 'node:net'", 'node:net'],
    ["export { connect } from 'node:tls'", 'node:tls'],
    ["export const { request } = process.getBuiltinModule('node:https')", 'node:https'],
    ["import { createTransport } from 'nodemailer'", 'nodemailer'],
    ["import { createRemoteJWKSet } from 'jose'", 'createRemoteJWKSet'],
    ["import { discoveryRequest } from 'oauth4webapi'", 'oauth4webapi without customFetch'],
  ])('refuses %s', async (text, what) => {
    expect(new Set(await problemsWith({ [path]: `${text}\n` }))).toEqual(new Set([refused(what)]))
  })

  it.each([
    "import { isIP, type Socket } from 'node:net'",
    "import type { Dispatcher } from 'undici'",
    "import { createServer } from 'node:http'",
    "import { jwtVerify } from 'jose'",
    "import { customFetch, discoveryRequest } from 'oauth4webapi'",
    'export const a = (api) => api.fetch({ fetch: 1 })',
  ])('allows %s', async (text) => {
    expect(await problemsWith({ [path]: `${text}\n` })).toEqual([])
  })

  it('leaves the guarded client itself alone', async () => {
    const text = "import { Agent } from 'undici'\nexport const agent = new Agent()\n"
    expect(await problemsWith({ 'packages/common/src/outbound/outbound.ts': text })).toEqual([])
  })
})

describe('migrations', () => {
  const second = 'migrations/shop/0002-create-carts.ts'
  const list = (keys: readonly string[]) => ({
    'migrations/shop.ts': `export const shopMigrations = { ${keys.map((key) => `'${key}': 1`).join(', ')} }\n`,
  })

  it('refuses a file that is not listed', async () => {
    expect(await problemsWith({ [second]: 'export const a = 1\n' })).toEqual([
      'migrations/shop.ts does not list 0002-create-carts',
    ])
  })

  it('refuses a list in another order, or with a file that is not there', async () => {
    const message = 'migrations/shop.ts lists other files, or another order'
    const swapped = list(['0002-create-carts', '0001-create-items'])
    expect(await problemsWith({ ...swapped, [second]: 'export const a = 1\n' })).toEqual([message])
    expect(await problemsWith(list(['0001-create-items', '0002-create-carts']))).toEqual([message])
  })

  it('refuses a number that repeats', async () => {
    const files = {
      ...list(['0001-create-items', '0001-create-more']),
      'migrations/shop/0001-create-more.ts': 'export {}\n',
    }
    expect(await problemsWith(files)).toEqual([
      'migrations/shop/0001-create-more.ts number 0001 is taken by 0001-create-items',
    ])
  })

  it.each([
    ["names.id('thirty_one_characters_are_more')", 30, []],
    ["names.id('thirty_one_characters_are_more_')", 31, 'thirty_one_characters_are_more_'],
    ["names.local('thirty_one_characters_are_more_')", 31, 'thirty_one_characters_are_more_'],
    ["db.schema.createTable('thirty_one_characters_are_more_')", 31, 'thirty_one_characters_are_more_'],
    ['sql`CONSTRAINT thirty_one_characters_are_more_ CHECK (a)`', 31, 'thirty_one_characters_are_more_'],
  ])('judges the length of %s', async (text, length, name) => {
    const message = `has ${length} characters; a name in the database has at most 30`
    const path = 'migrations/shop/0001-create-items.ts'
    const expected = typeof name === 'string' ? [`${path}:1 ${name} ${message}`] : []
    expect(await problemsWith({ [path]: `export const a = (names, db, sql) => ${text}\n` })).toEqual(expected)
  })
})

describe('settings', () => {
  it('refuses a setting that .env.example and the README do not list', async () => {
    const config = 'export const settings = { PORT: 8090, HOST: 1 }\n'
    expect(await problemsWith({ 'services/shop/src/config.ts': config })).toEqual([
      '.env.example does not list SHOP_HOST',
      'services/shop/README.md does not list SHOP_HOST',
    ])
  })

  it('refuses a listed setting that nothing reads, one listed twice, and one without explanation', async () => {
    const example = '# Port of the API.\n# SHOP_PORT=8090\n\n# SHOP_HOST=::\n\nSHOP_PORT=\n'
    expect(await problemsWith({ '.env.example': example })).toEqual([
      '.env.example:4 SHOP_HOST has no line above it that explains it',
      '.env.example:6 SHOP_PORT is listed twice',
      '.env.example:6 SHOP_PORT has no line above it that explains it',
      '.env.example lists SHOP_HOST, which nothing reads',
    ])
  })

  it('accepts a block of settings under one line, and angle brackets in the README', async () => {
    const files = {
      'services/shop/src/config.ts': 'export const settings = { PORT: 1, SIGN_IN_A_KEY: 1, SIGN_IN_B_KEY: 1 }\n',
      'services/shop/README.md': `${sound['services/shop/README.md']}| \`SHOP_SIGN_IN_<WAY>_KEY\` | |\n`,
      '.env.example': `${sound['.env.example']}\n# Keys by way of signing in.\nSHOP_SIGN_IN_A_KEY=\n# SHOP_SIGN_IN_B_KEY=\n`,
    }
    expect(await problemsWith(files)).toEqual([])
    const unread = `${files['services/shop/README.md']}| \`SHOP_<WAY>_LOCK\` | |\n`
    expect(await problemsWith({ ...files, 'services/shop/README.md': unread })).toEqual([
      'services/shop/README.md lists SHOP_<WAY>_LOCK, which nothing reads',
    ])
  })

  it('refuses a service whose config exports no settings', async () => {
    expect(await problemsWith({ 'services/shop/src/config.ts': 'export const port = 1\n' })).toEqual([
      'services/shop/src/config.ts exports no object named settings',
    ])
  })
})

describe('documents', () => {
  it('refuses a link to a file that is not there', async () => {
    const text = '[app](services/shop/src/app.ts#top) [web](https://example.com) [gone](docs/gone.md)\n'
    expect(await problemsWith({ 'README.md': text })).toEqual(['README.md:1 links to docs/gone.md, which is not there'])
  })
})

describe('pictures', () => {
  const page = { 'services/payments/src/pages/assets/page.css': 'a {}\n' }
  const listOf = (path: string, text: string) => `${createHash('sha256').update(text).digest('hex')}  ${path}\n`
  const changed = 'has changed since its pictures were taken: node bench/src/payment-page.ts --pictures'

  it('show the page as it is', async () => {
    const path = 'services/payments/src/pages/assets/page.css'
    const list = 'docs/payment-page/sources.sha256'
    expect(await problemsWith({ ...page, [list]: listOf(path, 'a {}\n') })).toEqual([])
    for (const kept of ['', listOf(path, 'b {}\n')]) {
      expect(await problemsWith({ ...page, [list]: kept })).toContain(`${path} ${changed}`)
    }
    const gone = listOf(path, 'a {}\n') + listOf('services/payments/src/pages/gone.ts', '')
    expect(await problemsWith({ ...page, [list]: gone })).toEqual([`services/payments/src/pages/gone.ts ${changed}`])
  })
})

describe('metrics', () => {
  const code = 'services/shop/src/sales.ts'
  const sold = "export const sold = (meter) => meter.createCounter('shop_sold_total', { description: 'x' })\n"
  const rows = '### Metrics of shop\n\n| `shop_sold_total` | counter | `kind` | sales |\n'
  const document = 'docs/observability.md'

  it('are those of the document', async () => {
    expect(await problemsWith({ [code]: sold, [document]: rows })).toEqual([])
    expect(await problemsWith({ [code]: sold })).toEqual([`${code}:1 ${document} does not list shop_sold_total`])
    expect(await problemsWith({ [document]: rows })).toEqual([
      `${document}:3 lists shop_sold_total, which nothing measures`,
    ])
    const gauge = { [code]: sold.replace('createCounter', 'createObservableGauge'), [document]: rows }
    expect(await problemsWith(gauge)).toEqual([`${document}:3 shop_sold_total is a gauge`])
    const other = { [code]: sold, [document]: rows.replace('of shop', 'of bank') }
    expect(await problemsWith(other)).toEqual([`${document}:3 shop_sold_total is of shop`])
    expect(await problemsWith({ [code]: 'export const sold = (meter, name) => meter.createGauge(name)\n' })).toEqual([
      `${code}:1 names a metric by something else than a text in quotes`,
    ])
  })

  const rules = (alert: string, expr: string) => ({
    'docker/prometheus/rules.yml': `groups: [{ name: all, rules: [{ alert: ${alert}, expr: '${expr}', annotations: { runbook: docs/observability.md#nosales } }] }]\n`,
    'docker/prometheus/rules.test.yml': 'tests: [{ alert_rule_test: [{ alertname: NoSales }] }]\n',
  })
  const runbook = { [code]: sold, [document]: `${rows}\n### NoSales\n\nSell more.\n` }

  it.each([
    ['sum by (kind) (rate(shop_sold_total{job="shop"}[5m])) < 1 or up == 0', []],
    ['rate(shop_lost_total[5m]) > 0', ['asks for shop_lost_total, which no service has']],
    ['shop_sold_total{size="l"} > 0', ['asks shop_sold_total for size']],
    ['sum by (size) (shop_sold_total) > 0', ['groups by size']],
    ['shop_sold_total_bucket > 0', ['asks for shop_sold_total_bucket, which no service has']],
  ])('that an alert asks for are there: %s', async (expr, problems) => {
    const named = problems.map((problem) => `docker/prometheus/rules.yml NoSales ${problem}`)
    expect(await problemsWith({ ...runbook, ...rules('NoSales', expr) })).toEqual(named)
  })

  it('that a dashboard asks for are there', async () => {
    const dashboard = { panels: [{ title: 'Row' }, { title: 'Sales', targets: [{ expr: 'shop_lost_total' }] }] }
    const path = 'docker/grafana/dashboards/shop.json'
    expect(await problemsWith({ ...runbook, [path]: JSON.stringify(dashboard) })).toEqual([
      `${path} "Sales" asks for shop_lost_total, which no service has`,
    ])
  })

  it('are alerted on with a runbook and a test', async () => {
    expect(await problemsWith({ ...runbook, ...rules('FewSales', 'shop_sold_total > 0') })).toEqual([
      'docker/prometheus/rules.yml FewSales has no runbook: a section of its name in docs/observability.md',
      'docker/prometheus/rules.test.yml does not try FewSales',
    ])
  })
})
