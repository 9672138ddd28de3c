import { expect, it } from 'vitest'
import { charters } from './charters.ts'
import { problemsOf } from './shop-tree.ts'

const manifest = { 'packages/database/package.json': '{ "description": "The one way to PostgreSQL" }' }

it('accepts a README that begins with the charter', async () => {
  const readme = '# Database\n\nThe one way to PostgreSQL.\n\nMore.\n'
  expect(await problemsOf(charters, { ...manifest, 'packages/database/README.md': readme })).toEqual([])
})

it.each([
  ['another charter', '# Database\n\nHelpers for PostgreSQL.\n'],
  ['no charter', '# Database\n'],
  ['no README', undefined],
])('refuses %s', async (_, readme) => {
  expect(await problemsOf(charters, { ...manifest, 'packages/database/README.md': readme })).toEqual([
    'packages/database/README.md does not begin with the charter: The one way to PostgreSQL.',
  ])
})

it('refuses a package without a description', async () => {
  expect(await problemsOf(charters, { 'packages/database/package.json': '{}' })).toEqual([
    'packages/database/package.json has no description: say what the package is for',
  ])
})

it('refuses another charter in the table of the architecture', async () => {
  const readme = '# Database\n\nThe one way to PostgreSQL.\n'
  const files = { ...manifest, 'packages/database/README.md': readme }
  const row = (charter: string) => ({ 'docs/architecture.md': `| \`packages/database\` | ${charter} |\n` })
  expect(await problemsOf(charters, { ...files, ...row('The one way to PostgreSQL') })).toEqual([])
  expect(await problemsOf(charters, { ...files, ...row('the two lanes') })).toEqual([
    'docs/architecture.md has no row with the charter of packages/database: The one way to PostgreSQL',
  ])
})
