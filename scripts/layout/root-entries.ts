import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import type { Rule } from './source-tree.ts'

/** README.md explains every file and folder of the root. Entries that git ignores are left out. */
export const rootEntries: Rule = ({ root, files }) => {
  const readme = files.find(({ path }) => path === 'README.md')
  if (readme === undefined) return []
  const ignored = existsSync(join(root, '.gitignore')) ? readFileSync(join(root, '.gitignore'), 'utf8').split('\n') : []
  return readdirSync(root, { withFileTypes: true })
    .filter(({ name }) => name !== '.git' && name !== 'README.md')
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => !ignored.some((pattern) => matchesGlob(name, pattern.replace(/^\//, ''))))
    .filter((name) => !readme.text.includes(`\`${name}\``))
    .map((name) => ({ path: 'README.md', message: `does not say what ${name} is for` }))
}
