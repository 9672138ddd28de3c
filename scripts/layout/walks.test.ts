import { expect, it } from 'vitest'
import { problemsOf, treeOfShop } from './shop-tree.ts'
import { readWalks, walks } from './walks.ts'

const [route, repository, sql] = [
  'services/shop/src/routes/carts.ts',
  'services/shop/src/carts/cart-repository.ts',
  'migrations/shop/functions/add_line.sql',
]
const files = {
  [route]: "import { callAddLine } from '../carts/cart-repository.ts'\nexport const itemCount = callAddLine\n",
  [repository]: "export const callAddLine = (itemCount) => ['add_line', itemCount]\n",
  [sql]: 'CREATE FUNCTION {{add_line}}(item_count int)\n',
}

function document(value: string, paths: readonly string[], after = '') {
  const steps = paths.map((path, index) => `${index + 1}. [${path}](../${path}): does something.\n`)
  return {
    'docs/architecture.md': `# Architecture\n\n## Walks\n\n### A count\n\n${value}\n\n${steps.join('')}${after}`,
  }
}
const named = 'The value is `itemCount`.'

it('accepts a walk whose files name the value and each other', async () => {
  const text = { ...files, ...document(named, [route, repository, sql]) }
  expect(await problemsOf(walks, text)).toEqual([])
  expect(readWalks(treeOfShop(text))).toEqual([
    { title: 'A count', value: 'itemCount', line: 5, files: [route, repository, sql] },
  ])
})

it('accepts a file that deps.ts builds for an earlier file', async () => {
  const deps = "import '../carts/cart-repository.ts'\n"
  const [taking, given] = [
    "import type { Deps } from '../deps.ts'\nexport type ItemCount = Deps\n",
    'services/shop/src/deps.ts',
  ]
  const text = document(named, [route, repository])
  expect(await problemsOf(walks, { ...files, [route]: taking, [given]: deps, ...text })).toEqual([])
  expect(await problemsOf(walks, { ...files, [route]: taking, [given]: '', ...text })).toEqual([
    `docs/architecture.md:5 A count: no earlier file names ${repository}`,
  ])
})

it('ends the walks at the next section', async () => {
  const more =
    '\n### Another\n\nThe value is `price`.\n\n1. [a](../a.ts): none.\n\n## Parts\n\n### No walk\n\n1. [b](b.ts)\n'
  const tree = treeOfShop({ ...files, ...document(named, [route], more) })
  expect(readWalks(tree).map(({ title, files: of }) => [title, of])).toEqual([
    ['A count', [route]],
    ['Another', ['a.ts']],
  ])
})

it('refuses a walk without a name of its value', async () => {
  expect(await problemsOf(walks, { ...files, ...document('A number.', [route]) })).toEqual([
    'docs/architecture.md:5 A count: say its name: "The value is `amount`"',
  ])
})

it('refuses a file that does not name the value, or is not there', async () => {
  const text = { ...files, [sql]: 'CREATE FUNCTION {{add_line}}()\n', ...document(named, [route, repository, sql]) }
  expect(await problemsOf(walks, text)).toEqual([`docs/architecture.md:5 A count: ${sql} does not name itemCount`])
  expect(await problemsOf(walks, { ...text, [sql]: undefined })).toEqual([
    `docs/architecture.md:5 A count: ${sql} does not name itemCount`,
  ])
})

it('refuses a file that no earlier file names', async () => {
  expect(await problemsOf(walks, { ...files, ...document(named, [route, sql, repository]) })).toEqual([
    `docs/architecture.md:5 A count: no earlier file names ${sql}`,
  ])
})

it.each([0, 11])('refuses a walk of %d files', async (count) => {
  const text = document(
    named,
    Array.from({ length: count }, () => route),
  )
  expect(await problemsOf(walks, { ...files, [route]: `${files[route]}// carts.ts\n`, ...text })).toEqual([
    `docs/architecture.md:5 A count: crosses ${count} files, not 1 to 10`,
  ])
})
