import { describe, expect, it } from 'vitest'
import { arrows, moduleOrder, portableCore } from './arrows.ts'
import { problemsOf } from './shop-tree.ts'

describe('arrows', () => {
  const src = 'services/shop/src'

  it.each([
    [`${src}/items/item.ts`, '../routes/items.ts', 'a folder of a module never imports routes'],
    [`${src}/items/item.ts`, '../controllers/items.ts', 'a folder of a module never imports controllers'],
    [`${src}/items/item.ts`, '../plugins/guard.ts', 'a folder of a module never imports plugins'],
    [`${src}/items/item.ts`, '../use-cases/list-items.ts', 'a folder of a module never imports use-cases'],
    [`${src}/items/item.ts`, '../commands/serve.ts', 'a folder of a module never imports commands'],
    [`${src}/items/item.ts`, 'fastify', 'only routes and plugins know HTTP (fastify)'],
    [`${src}/items/item.ts`, 'fastify/lib/errors.js', 'only routes and plugins know HTTP (fastify/lib/errors.js)'],
    [`${src}/items/item.ts`, 'fastify-plugin', 'only routes and plugins know HTTP (fastify-plugin)'],
    [`${src}/items/item.ts`, '@fastify/cors', 'only routes and plugins know HTTP (@fastify/cors)'],
    [`${src}/items/item.ts`, '../app.ts', 'nothing below imports app.ts'],
    [`${src}/items/item.ts`, '../main.ts', 'nothing imports main.ts'],
    [`${src}/items/item.ts`, '../deps.ts', 'a module never imports deps.ts: say what it needs'],
    [`${src}/items/item.ts`, '@trestle/shop/deps.ts', 'a module never imports deps.ts: say what it needs'],
    [`${src}/items/prices/price.ts`, '../../deps.ts', 'a module never imports deps.ts: say what it needs'],
    [`${src}/config/mail.ts`, '../deps.ts', 'a module never imports deps.ts: say what it needs'],
    [`${src}/items/item.ts`, '../items-deps.ts', undefined],
    [`${src}/items/item.ts`, './deps.ts', undefined],
    [`${src}/app.ts`, './deps.ts', undefined],
    [`${src}/commands/serve.ts`, '../deps.ts', undefined],
    [`${src}/routes/carts.ts`, '../deps.ts', undefined],
    [`${src}/controllers/carts.ts`, '../deps.ts', undefined],
    [`${src}/plugins/guard.ts`, '../deps.ts', undefined],
    [`${src}/use-cases/buy.ts`, '../deps.ts', undefined],
    ['packages/database/src/deps/pool.ts', '../deps.ts', undefined],
    [`${src}/commands/serve.ts`, '../main.ts', 'nothing imports main.ts'],
    [`${src}/use-cases/buy.ts`, '../routes/items.ts', 'a use case never imports routes'],
    [`${src}/use-cases/buy.ts`, '../controllers/items.ts', 'a use case never imports controllers'],
    [`${src}/use-cases/buy.ts`, '../plugins/guard.ts', 'a use case never imports plugins'],
    [`${src}/use-cases/buy.ts`, '../commands/serve.ts', 'a use case never imports commands'],
    [`${src}/use-cases/buy.ts`, '../app.ts', 'nothing below imports app.ts'],
    [`${src}/use-cases/buy.ts`, '@fastify/cors', 'only routes and plugins know HTTP (@fastify/cors)'],
    [`${src}/plugins/guard.ts`, '../routes/items.ts', 'a plugin never imports routes'],
    [`${src}/plugins/guard.ts`, '../app.ts', 'nothing below imports app.ts'],
    [`${src}/routes/carts.ts`, '../app.ts', 'nothing below imports app.ts'],
    [`${src}/routes/carts.ts`, 'kysely', 'a route knows no SQL (kysely)'],
    [`${src}/routes/carts.ts`, 'kysely/helpers/postgres', 'a route knows no SQL (kysely/helpers/postgres)'],
    [`${src}/routes/carts.ts`, 'pg', 'a route knows no SQL (pg)'],
    [`${src}/controllers/carts.ts`, 'pg', 'a route knows no SQL (pg)'],
    ['services/other/src/app.ts', '@trestle/shop/app.ts', 'a service never imports another service (shop)'],
    ['services/other/test/buy.ts', '@trestle/shop/app.ts', 'a test never imports another service (shop)'],
    ['services/other/src/buy.test.ts', '../../shop/src/prices.json', 'a test never imports another service (shop)'],
    ['services/other/src/buy.test.ts', '../../other/src/prices.json', undefined],
    ['services/other/src/buy.test.ts', '../../../docs/openapi/other.json', undefined],
    ['packages/database/src/more.ts', '@trestle/shop/app.ts', 'a package never imports a service (shop)'],
    [
      'packages/common/src/more.ts',
      '@trestle/database/connect.ts',
      'packages/common imports neither a database nor another package of ours (@trestle/database/connect.ts)',
    ],
    [
      'packages/common/src/more.ts',
      'kysely',
      'packages/common imports neither a database nor another package of ours (kysely)',
    ],
    ['packages/service/src/more.ts', 'fastify', 'packages/service knows no route (fastify)'],
    ['packages/database/src/more.test.ts', '@trestle/shop/app.ts', 'a package never imports a service (shop)'],
    ['migrations/shop/0001-create-items.ts', 'pg', 'a migration imports Kysely alone (pg)'],
    ['migrations/shop/0001-create-items.ts', 'not-kysely', 'a migration imports Kysely alone (not-kysely)'],
    ['migrations/shop/0001-create-items.ts', 'kysely/migration', undefined],
    ['migrations/shop/0001-create-items.ts', './rows.ts', undefined],
    ['migrations/functions.ts', 'node:fs/promises', undefined],
    [`${src}/items/item.ts`, 'not-fastify', undefined],
    [`${src}/items/item.ts`, 'fastify_like', undefined],
    [`${src}/routes/carts.ts`, 'not-pg', undefined],
    [`${src}/routes/carts.ts`, 'pg-cursor-like', undefined],
    [`${src}/app.ts`, './routes/items.ts', undefined],
    [`${src}/app.ts`, '@trestle/shop/config.ts', undefined],
    [`${src}/app.ts`, '@trestle/database/connect.ts', undefined],
    [`${src}/commands/serve.ts`, '../app.ts', undefined],
    [`${src}/plugins/guard.ts`, 'fastify', undefined],
    [`${src}/plugins/guard.ts`, '../use-cases/list-items.ts', undefined],
    [`${src}/routes/carts.ts`, '../use-cases/list-items.ts', undefined],
    [`${src}/use-cases/buy.ts`, './list-items.ts', undefined],
    [`${src}/use-cases/buy.ts`, '../items/item-repository.ts', undefined],
  ])('finds in %s, which imports %s, the problem: %s', async (path, specifier, message) => {
    const problems = await problemsOf(arrows, { [path]: `import type { X } from '${specifier}'\nexport type Y = X\n` })
    expect(problems).toEqual(message === undefined ? [] : [`${path}:1 ${message}`])
  })

  it.each([
    ['services/shop/src/items/item.ts', '../../../other/src/items/item.ts'],
    ['packages/database/src/more.ts', '../../common/src/x.ts'],
    ['migrations/shop.ts', '../services/shop/src/app.ts'],
    ['bench/src/load.ts', '../../packages/database/src/connect.ts'],
  ])('refuses an import of %s that leaves its package', async (path, specifier) => {
    expect(await problemsOf(arrows, { [path]: `export { x } from '${specifier}'\n` })).toEqual([
      `${path}:1 a relative import never leaves its package (${specifier})`,
    ])
  })

  it('sees export … from and import() too', async () => {
    const text =
      "export { a } from 'fastify'\nexport * from 'fastify-plugin'\nexport const b = () => import('@fastify/cors')\n"
    expect(await problemsOf(arrows, { [`${src}/items/item.ts`]: text })).toEqual([
      `${src}/items/item.ts:1 only routes and plugins know HTTP (fastify)`,
      `${src}/items/item.ts:2 only routes and plugins know HTTP (fastify-plugin)`,
      `${src}/items/item.ts:3 only routes and plugins know HTTP (@fastify/cors)`,
    ])
  })

  it.each(['items/item.test.ts', 'test/items.ts'])('leaves the test %s alone', async (file) => {
    const text = "import '@trestle/other/app.ts'\nimport '../app.ts'\nimport '../deps.ts'\nimport 'fastify'\n"
    expect(await problemsOf(arrows, { [`${src}/${file}`]: text })).toEqual([])
  })
})

describe('portableCore', () => {
  const core = 'packages/endpoints/src/core.ts'

  it.each([
    ["import { readFileSync } from 'node:fs'", 'node:fs'],
    ["import Fastify from 'fastify'", 'fastify'],
    ["export { sync } from 'zod-like'", 'zod-like'],
    ["export { parse } from 'acorn'\nimport { make } from 'multipasta'\nimport { z } from 'zod'", undefined],
    ["import './other.ts'", undefined],
    ["import type { FastifyInstance } from 'fastify'\nexport type { Server } from 'node:http'", undefined],
    ['export const load = (url) => import(url)', undefined],
  ])('refuses in %j the import of %s', async (text, specifier) => {
    const message = 'the core of the framework imports zod, acorn, leven and multipasta alone'
    const problems = specifier === undefined ? [] : [`${core}:1 ${message} (${specifier})`]
    expect(await problemsOf(portableCore, { [core]: `${text}\n` })).toEqual(problems)
  })

  it.each(['src/main.ts', 'src/cli/watch.ts', 'src/core.test.ts', 'examples/a/server.ts', 'scripts/b.ts'])(
    'leaves %s alone',
    async (file) => {
      const text = "import { readFileSync } from 'node:fs'\nexport const read = readFileSync\n"
      expect(await problemsOf(portableCore, { [`packages/endpoints/${file}`]: text })).toEqual([])
    },
  )
})

describe('moduleOrder', () => {
  const readme = 'services/shop/README.md'
  const src = 'services/shop/src'

  /** A README with these lines in its section, followed by another section. */
  function list(...lines: readonly string[]) {
    return {
      [readme]: `# Shop\n\n## Modules\n\nIn order.\n\n${lines.join('\n')}\n\n## Commands\n\n- \`sell/\`: no module.\n`,
    }
  }
  const items = '- `items/`: what the shop sells.'
  const carts = '- `carts/`: what a customer wants to buy.'

  it('accepts modules that import only earlier modules and their own folder', async () => {
    const files = {
      ...list(items, carts),
      [`${src}/carts/cart.ts`]: "import './line.ts'\nimport '../items/item-view.ts'\nimport '../deps.ts'\n",
      [`${src}/carts/line.ts`]: "import { z } from 'zod'\n",
    }
    expect(await problemsOf(moduleOrder, files)).toEqual([])
  })

  it.each([
    "import { cart } from '../carts/cart.ts'",
    "import type { Cart } from '../carts/cart.ts'",
    "export type { Cart } from '../carts/cart.ts'",
    "import type { Cart } from '@trestle/shop/carts/cart.ts'",
  ])('refuses in a module that stands before carts/: %s', async (text) => {
    const files = { ...list(items, carts), [`${src}/carts/cart.ts`]: '', [`${src}/items/item.ts`]: `\n${text}\n` }
    expect(await problemsOf(moduleOrder, files)).toEqual([
      `${src}/items/item.ts:2 items/ imports carts/, which stands after it in the README's list of modules`,
    ])
  })

  it('looks at the files of folders below', async () => {
    const files = {
      ...list(items, carts),
      [`${src}/carts/lines/line.ts`]: '',
      [`${src}/items/prices/price.ts`]: "import '../../carts/lines/line.ts'\n",
    }
    expect(await problemsOf(moduleOrder, files)).toEqual([
      `${src}/items/prices/price.ts:1 items/ imports carts/, which stands after it in the README's list of modules`,
    ])
  })

  it('lets a test import any module', async () => {
    const test = "import '../carts/cart.ts'\n"
    const files = { ...list(items, carts), [`${src}/carts/cart.ts`]: '', [`${src}/items/item.test.ts`]: test }
    expect(await problemsOf(moduleOrder, files)).toEqual([])
  })

  it('refuses a module that is not listed', async () => {
    const files = { ...list(items), [`${src}/carts/cart.ts`]: '' }
    expect(await problemsOf(moduleOrder, files)).toEqual([`${readme} does not list carts/`])
  })

  it.each(['- `items/`', '- `items`: no slash', 'items/: no list', '* `items/`: another bullet'])(
    'does not count as listed: %s',
    async (line) => {
      expect(await problemsOf(moduleOrder, list(line))).toEqual([`${readme} does not list items/`])
    },
  )

  it('refuses a listed module that is no folder', async () => {
    expect(await problemsOf(moduleOrder, list(items, carts))).toEqual([
      `${readme}:8 lists carts/, which is no folder of a module`,
    ])
  })

  it('refuses a module that is listed twice', async () => {
    expect(await problemsOf(moduleOrder, list(items, items))).toEqual([`${readme}:8 lists items/ twice`])
  })

  it.each(['routes', 'controllers', 'use-cases', 'plugins', 'commands', 'config', 'providers', 'gateways'])(
    'takes no folder of %s for a module',
    async (folder) => {
      const files = {
        ...list(items),
        [`${src}/${folder}/one.ts`]: '',
        [`${src}/items/item.ts`]: `import '../${folder}/one.ts'\n`,
      }
      expect(await problemsOf(moduleOrder, files)).toEqual([])
    },
  )

  it('takes a kind below a module for part of the module', async () => {
    const files = {
      ...list(items, carts),
      [`${src}/carts/providers/post.ts`]: '',
      [`${src}/items/item.ts`]: "import '../carts/providers/post.ts'\n",
    }
    expect(await problemsOf(moduleOrder, files)).toEqual([
      `${src}/items/item.ts:1 items/ imports carts/, which stands after it in the README's list of modules`,
    ])
  })

  it.each([undefined, '# Shop\n', '# Shop\n\n### Modules\n'])(
    'refuses a README without the section: %j',
    async (text) => {
      expect(await problemsOf(moduleOrder, { [readme]: text })).toEqual([
        `${readme} has no section "## Modules" that lists the folders of src`,
      ])
    },
  )
})
