import { expect, it } from 'vitest'
import { packageTables } from './package-tables.ts'
import { problemsOf } from './shop-tree.ts'

const readme = 'packages/tills/README.md'
const sources = {
  'packages/tills/src/till.ts': '',
  'packages/tills/src/till.test.ts': '',
  'packages/tills/src/coins/coin.ts': '',
}

it('refuses a README that leaves out a file or a folder of its package', async () => {
  expect(await problemsOf(packageTables, { ...sources, [readme]: '| `till.ts` | a till |\n' })).toEqual([
    `${readme} does not name \`coins/\` of its src`,
  ])
  expect(await problemsOf(packageTables, { ...sources, [readme]: '| `coins/` | coins, and till.ts |\n' })).toEqual([
    `${readme} does not name \`till.ts\` of its src`,
  ])
})

it('allows a README that names them all, and leaves tests out', async () => {
  expect(await problemsOf(packageTables, { ...sources, [readme]: '| `till.ts`, `coins/` | a till |\n' })).toEqual([])
})

it('leaves the README of the published package to those who install it', async () => {
  const core = { 'packages/endpoints/src/core.ts': '', 'packages/endpoints/README.md': '' }
  expect(await problemsOf(packageTables, core)).toEqual([])
})

const noun = 'services/shop/src/tills/README.md'
const tills = {
  'services/shop/src/tills/till.ts': '',
  'services/shop/src/tills/till.test.ts': '',
  'services/shop/src/tills/coins/coin.ts': '',
}

it('refuses a table of files of a noun that leaves out a file or a folder, even when the text names it', async () => {
  const table = '| File | Holds |\n|---|---|\n| `till.ts` | a till |\n\nSee `coins/`.\n'
  expect(await problemsOf(packageTables, { ...tills, [noun]: table })).toEqual([
    `${noun} has a table of files that does not name \`coins/\``,
  ])
})

it('allows a README of a noun without a table of files, and one whose table names them all', async () => {
  expect(await problemsOf(packageTables, { ...tills, [noun]: '| State | Means |\n|---|---|\n' })).toEqual([])
  const table = '| Files | Hold |\n|---|---|\n| `till.ts`, `coins/` | a till |\n'
  expect(await problemsOf(packageTables, { ...tills, [noun]: table })).toEqual([])
})
