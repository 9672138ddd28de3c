import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { isSource, type Rule, type SourceFile, type SourceTree } from './source-tree.ts'

/** A small tree that follows every rule: a service, its packages and its migrations. */
export const shop = {
  'services/shop/README.md':
    '| `GET /items`, `POST /items` | `routes/items.ts` |\n| `GET /items/:itemId` | `routes/items.ts` |\n\n' +
    '## Modules\n\n- `items/`: what the shop sells.\n',
  'services/shop/src/config.ts': '/** The port. */ export const port = process.env.SHOP_PORT\n',
  'services/shop/src/app.ts':
    "import { itemsRoutes } from './routes/items.ts'\n/** The app. */ export const app = [itemsRoutes]\n",
  'services/shop/src/routes/items.ts':
    "import { listItems } from '../use-cases/list-items.ts'\n" +
    "/** The routes. */ export const itemsRoutes = (app): void => {\n  app.get('/items', listItems)\n  app.post('/items', listItems)\n" +
    "  app.get('/items/:itemId', listItems)\n}\n",
  'services/shop/src/routes/items.test.ts': '',
  'services/shop/src/use-cases/list-items.ts':
    "import { findItems } from '../items/item-repository.ts'\n/** The list. */ export const listItems = [findItems]\n",
  'services/shop/src/items/item-repository.ts':
    "import { sql } from 'kysely'\nimport { connect } from '@trestle/database/connect.ts'\n/** The query. */ export const findItems = [sql, connect]\n",
  'services/shop/src/items/item-stock.ts':
    "import { connect } from '@trestle/database/connect.ts'\nimport { findItems } from './item-repository.ts'\n/** The stock. */ export const stock = [connect, findItems]\n",
  'services/shop/src/items/item-view.ts': '/** The view. */ export const itemView = (item): unknown => item\n',
  'scripts/layout/impure-files.json': '{ "runs statements": { "services/shop/src/items": ["item-stock"] } }',
  'packages/database/README.md': '| `connect.ts` | the pool |\n',
  'packages/database/src/connect.ts': '/** The pool. */ export const connect = (now): unknown => now\n',
  'migrations/shop.ts':
    "/** The migrations. */ export const shopMigrations = { '0001-create-items': () => import('./shop/0001-create-items.ts') }\n",
  'migrations/shop/0001-create-items.ts':
    "// Items are sold.\nimport { sql } from 'kysely'\nexport const createItems = (names) => [sql, names.id('items'), sql`id int CONSTRAINT items_pkey PRIMARY KEY`]\n",
}

/** Files by path from the root. `undefined` removes a file of the shop. */
export type Files = Readonly<Record<string, string | undefined>>

/** Writes the shop's tree with some files replaced, added or removed. The folder is deleted when the test ends. */
export function writeShop(files: Files = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'layout-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const { path, text } of textsOf(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

/** The same tree in memory, which is faster. It is written to disk only if a rule reads `root`. */
export function treeOfShop(files: Files = {}): SourceTree {
  const all = textsOf(files)
  let root: string | undefined
  return {
    get root() {
      root ??= writeShop(files)
      return root
    },
    files: all.filter(({ path }) => isSource(path)).sort((a, b) => (a.path < b.path ? -1 : 1)),
    read: (name) => all.find(({ path }) => path === name)?.text,
  }
}

function textsOf(files: Files): readonly SourceFile[] {
  return Object.entries({ ...shop, ...files }).flatMap(([path, text]) => (text === undefined ? [] : { path, text }))
}

/** The problems that a rule finds in the shop with these files, as `path:line message`. */
export async function problemsOf(rule: Rule, files: Files = {}): Promise<readonly string[]> {
  const problems = await rule(treeOfShop(files))
  return problems.map(({ path, line, message }) => `${path}${line === undefined ? '' : `:${line}`} ${message}`)
}
