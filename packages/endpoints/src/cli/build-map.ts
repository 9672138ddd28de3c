import { writeFileSync } from 'node:fs'
import { dirname, relative, resolve, sep } from 'node:path'
import { findModules } from '../discovery/find-modules.ts'

/**
 * Writes a module that imports every controller of a folder and exports them as `modules`, for `new Application({ modules })`
 * where there are no files. It is to be made anew when modules come or go.
 */
export function buildMap(folder: string, file: string): number {
  const root = resolve(folder)
  const modules = findModules(root).map((module, i) => ({
    name: `m${i}`,
    key: slashed(relative(root, module.file)).replace(/\.m?[jt]s$/, ''),
    from: `./${slashed(relative(dirname(resolve(file)), module.file))}`.replace('./../', '../'),
  }))
  const lines = [
    '// Made by `endpoints build-map`.',
    ...modules.map(({ name, from }) => `import * as ${name} from '${from}'`),
    '',
    'export const modules = {',
    ...modules.map(({ name, key }) => `  '${key}': ${name},`),
    '}',
    '',
  ]
  writeFileSync(file, lines.join('\n'))
  return modules.length
}

function slashed(path: string): string {
  return path.replaceAll(sep, '/')
}
