import { expect, it } from 'vitest'
import { rootEntries } from './root-entries.ts'
import { problemsOf } from './shop-tree.ts'

const readme = '| `services/`, `packages/`, `migrations/`, `scripts/` | the shop |\n'

it('accepts a root whose every entry README.md explains', async () => {
  expect(await problemsOf(rootEntries, { 'README.md': readme })).toEqual([])
})

it('refuses a file or a folder that README.md does not name', async () => {
  expect(await problemsOf(rootEntries, { 'README.md': readme, 'shop.json': '{}', 'crates/apples.md': '' })).toEqual([
    'README.md does not say what crates/ is for',
    'README.md does not say what shop.json is for',
  ])
})

it('leaves alone what git ignores', async () => {
  const files = { 'README.md': `${readme}\`.gitignore\``, '.gitignore': 'logs/\n/roles.sql\n*.dump\n' }
  expect(await problemsOf(rootEntries, { ...files, 'logs/app.txt': '', 'roles.sql': '', 'shop.dump': '' })).toEqual([])
})
