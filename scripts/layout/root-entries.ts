import { readdirSync } from 'node:fs'
import { matchesGlob } from 'node:path'
import type { Rule } from './source-tree.ts'

/** README.md explains every file and folder of the root. Entries that git ignores are left out. */
export const rootEntries: Rule = ({ root, files, read }) => {
  const readme = files.find(({ path }) => path === 'README.md')
  if (readme === undefined) return []
  const ignored = read('.gitignore')?.split('\n') ?? []
  return readdirSync(root, { withFileTypes: true })
    .filter(({ name }) => name !== '.git' && name !== 'README.md')
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => !ignored.some((pattern) => matchesGlob(name, pattern.replace(/^\//, ''))))
    .filter((name) => !readme.text.includes(`\`${name}\``))
    .map((name) => ({ path: 'README.md', message: `does not say what ${name} is for` }))
}
