import { expect, it } from 'vitest'
import { nounDependencies } from './noun-dependencies.ts'
import { problemsOf } from './shop-tree.ts'

const src = 'services/shop/src'

it.each([
  [`${src}/items/item.ts`, "import { deps } from '../deps.ts'"],
  [`${src}/items/item.ts`, "import type { Deps } from '../deps.ts'"],
  [`${src}/items/item.ts`, "export type { Deps } from '../deps.ts'"],
  [`${src}/items/item.ts`, "export const deps = () => import('../deps.ts')"],
  [`${src}/items/item.ts`, "import type { Deps } from '@trestle/shop/deps.ts'"],
  [`${src}/items/prices/price.ts`, "import type { Deps } from '../../deps.ts'"],
  [`${src}/config/mail.ts`, "import type { Deps } from '../deps.ts'"],
])('refuses in %s: %s', async (path, text) => {
  expect(await problemsOf(nounDependencies, { [path]: `${text}\n` })).toEqual([
    `${path}:1 a noun never imports deps.ts: say what it needs`,
  ])
})

it.each([
  [`${src}/app.ts`, './deps.ts'],
  [`${src}/commands/serve.ts`, '../deps.ts'],
  [`${src}/routes/carts.ts`, '../deps.ts'],
  [`${src}/controllers/carts.ts`, '../deps.ts'],
  [`${src}/plugins/guard.ts`, '../deps.ts'],
  [`${src}/use-cases/buy.ts`, '../deps.ts'],
  [`${src}/items/item.test.ts`, '../deps.ts'],
  [`${src}/items/item.ts`, '../items-deps.ts'],
  [`${src}/items/item.ts`, './deps.ts'],
  ['packages/database/src/deps/pool.ts', '../deps.ts'],
])('allows in %s: %s', async (path, specifier) => {
  expect(await problemsOf(nounDependencies, { [path]: `import type { Deps } from '${specifier}'\n` })).toEqual([])
})
