import { z } from 'zod'
import { type Problem, productionFiles, type Rule } from './source-tree.ts'
import { importsOf } from './syntax.ts'

const Manifest = z.object({
  name: z.string().optional(),
  dependencies: z.record(z.string(), z.string()).default({}),
  optionalDependencies: z.record(z.string(), z.string()).default({}),
  peerDependencies: z.record(z.string(), z.string()).default({}),
})

/** Sources that images run. Only tests import `packages/testing`. */
const RUNS_IN_IMAGES = /^(migrations|services\/[^/]+\/src|packages\/(?!testing\/)[^/]+\/src)\//

/**
 * A package lists what its program imports as a dependency, not as a development dependency: images are installed without
 * development dependencies.
 */
export const declaredDependencies: Rule = (tree) => {
  const declared = new Map<string, ReadonlySet<string> | undefined>()
  const namesOf = (folder: string): ReadonlySet<string> | undefined => {
    if (!declared.has(folder)) declared.set(folder, namesIn(tree.read(`${folder}/package.json`)))
    return declared.get(folder)
  }
  return productionFiles(tree, 'services', 'packages', 'migrations')
    .filter(({ path }) => RUNS_IN_IMAGES.test(path))
    .flatMap((file) => {
      const folder = file.path.startsWith('migrations/') ? 'migrations' : file.path.split('/').slice(0, 2).join('/')
      const names = namesOf(folder)
      if (names === undefined) return []
      return importsOf(file)
        .filter(({ specifier, isType }) => !isType && /^[@a-z]/.test(specifier) && !specifier.startsWith('node:'))
        .map(({ specifier, line }) => ({ line, name: /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier }))
        .filter(({ name }) => !names.has(name))
        .map(({ name, line }): Problem => ({ path: file.path, line, message: `${name} is no dependency of ${folder}` }))
    })
}

/** The packages that a manifest lets its programs import, its own included; undefined when there is no manifest. */
function namesIn(manifest: string | undefined): ReadonlySet<string> | undefined {
  if (manifest === undefined) return undefined
  const { name, ...groups } = Manifest.parse(JSON.parse(manifest))
  return new Set([...Object.values(groups).flatMap(Object.keys), ...(name === undefined ? [] : [name])])
}
