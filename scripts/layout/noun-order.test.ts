import { expect, it } from 'vitest'
import { nounOrder } from './noun-order.ts'
import { problemsOf } from './shop-tree.ts'

const readme = 'services/shop/README.md'
const src = 'services/shop/src'

/** A README with these lines in its section, and another section after it. */
function list(...lines: readonly string[]) {
  return {
    [readme]: `# Shop\n\n## Nouns\n\nIn order.\n\n${lines.join('\n')}\n\n## Commands\n\n- \`sell/\`: no noun.\n`,
  }
}
const items = '- `items/`: what the shop sells.'
const carts = '- `carts/`: what a customer wants to buy.'

it('accepts nouns that import only earlier nouns and their own folder', async () => {
  const files = {
    ...list(items, carts),
    [`${src}/carts/cart.ts`]: "import './line.ts'\nimport '../items/item-view.ts'\nimport '../deps.ts'\n",
    [`${src}/carts/line.ts`]: "import { z } from 'zod'\n",
  }
  expect(await problemsOf(nounOrder, files)).toEqual([])
})

it.each([
  "import { cart } from '../carts/cart.ts'",
  "import type { Cart } from '../carts/cart.ts'",
  "export type { Cart } from '../carts/cart.ts'",
  "import type { Cart } from '@trestle/shop/carts/cart.ts'",
])('refuses in a noun that stands before carts/: %s', async (text) => {
  const files = { ...list(items, carts), [`${src}/carts/cart.ts`]: '', [`${src}/items/item.ts`]: `\n${text}\n` }
  expect(await problemsOf(nounOrder, files)).toEqual([
    `${src}/items/item.ts:2 items/ imports carts/, which stands after it in the README's list of nouns`,
  ])
})

it('looks at the files of folders below', async () => {
  const files = {
    ...list(items, carts),
    [`${src}/carts/lines/line.ts`]: '',
    [`${src}/items/prices/price.ts`]: "import '../../carts/lines/line.ts'\n",
  }
  expect(await problemsOf(nounOrder, files)).toEqual([
    `${src}/items/prices/price.ts:1 items/ imports carts/, which stands after it in the README's list of nouns`,
  ])
})

it('lets a test import any noun', async () => {
  const test = "import '../carts/cart.ts'\n"
  const files = { ...list(items, carts), [`${src}/carts/cart.ts`]: '', [`${src}/items/item.test.ts`]: test }
  expect(await problemsOf(nounOrder, files)).toEqual([])
})

it('refuses a noun that is not listed', async () => {
  const files = { ...list(items), [`${src}/carts/cart.ts`]: '' }
  expect(await problemsOf(nounOrder, files)).toEqual([`${readme} does not list carts/`])
})

it.each(['- `items/`', '- `items`: no slash', 'items/: no list', '* `items/`: another bullet'])(
  'does not count as listed: %s',
  async (line) => {
    expect(await problemsOf(nounOrder, list(line))).toEqual([`${readme} does not list items/`])
  },
)

it('refuses a listed noun that is no folder', async () => {
  expect(await problemsOf(nounOrder, list(items, carts))).toEqual([
    `${readme}:8 lists carts/, which is no folder of a noun`,
  ])
})

it('refuses a noun that is listed twice', async () => {
  expect(await problemsOf(nounOrder, list(items, items))).toEqual([`${readme}:8 lists items/ twice`])
})

it.each(['routes', 'controllers', 'use-cases', 'plugins', 'commands', 'config', 'providers', 'gateways'])(
  'takes no folder of %s for a noun',
  async (folder) => {
    const files = {
      ...list(items),
      [`${src}/${folder}/one.ts`]: '',
      [`${src}/items/item.ts`]: `import '../${folder}/one.ts'\n`,
    }
    expect(await problemsOf(nounOrder, files)).toEqual([])
  },
)

it('takes a kind below a noun for part of the noun', async () => {
  const files = {
    ...list(items, carts),
    [`${src}/carts/providers/post.ts`]: '',
    [`${src}/items/item.ts`]: "import '../carts/providers/post.ts'\n",
  }
  expect(await problemsOf(nounOrder, files)).toEqual([
    `${src}/items/item.ts:1 items/ imports carts/, which stands after it in the README's list of nouns`,
  ])
})

it.each([undefined, '# Shop\n', '# Shop\n\n### Nouns\n'])('refuses a README without the section: %j', async (text) => {
  expect(await problemsOf(nounOrder, { [readme]: text })).toEqual([
    `${readme} has no section "## Nouns" that lists the folders of src`,
  ])
})
