import type { Problem, Rule } from './source-tree.ts'

const forbidden = new Set(['index', 'utils', 'util', 'helpers', 'helper', 'misc', 'shared', 'types'])

/**
 * A folder or file is named after its subject: no `index.ts`, `utils`, `helpers`, `misc`, `shared`, `types.ts`. Below
 * `controllers`, where the framework maps URLs to files, `index.ts` is the module of the folder's own URL.
 */
export const forbiddenNames: Rule = (tree) =>
  tree.files
    .filter(({ path }) => path.endsWith('.ts'))
    .flatMap(({ path }): Problem[] => {
      const parts = path.replace(/(\.test)?\.ts$/, '').split('/')
      const isMapped = parts.slice(0, -1).includes('controllers')
      const word = parts.find((part) => forbidden.has(part) && !(isMapped && part === 'index'))
      return word === undefined ? [] : [{ path, message: `"${word}" names no subject; call it by what it holds` }]
    })
