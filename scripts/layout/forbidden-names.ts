import type { Problem, Rule } from './source-tree.ts'

const forbidden = new Set(['index', 'utils', 'util', 'helpers', 'helper', 'misc', 'shared', 'types'])

/** A folder or file is named after its subject: no `index.ts`, `utils`, `helpers`, `misc`, `shared`, `types.ts`. */
export const forbiddenNames: Rule = (tree) =>
  tree.files
    .filter(({ path }) => path.endsWith('.ts'))
    .flatMap(({ path }): Problem[] => {
      const parts = path.replace(/(\.test)?\.ts$/, '').split('/')
      const word = parts.find((part) => forbidden.has(part))
      return word === undefined ? [] : [{ path, message: `"${word}" names no subject; call it by what it holds` }]
    })
