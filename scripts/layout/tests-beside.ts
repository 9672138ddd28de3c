import { type Problem, productionFiles, type Rule } from './source-tree.ts'

/** Services. Every route or controller of theirs has a test beside it. */
const SERVICES = ['auth', 'inventory', 'payments']

/** Whoever reads a route finds its guarantees beside it: `x.test.ts` beside `x.ts`. */
export const testsBeside: Rule = (tree) => {
  const paths = new Set(tree.files.map(({ path }) => path))
  const folders = SERVICES.flatMap((name) => ['routes', 'controllers'].map((kind) => `services/${name}/src/${kind}`))
  return productionFiles(tree, ...folders).flatMap(({ path }): readonly Problem[] => {
    const test = path.replace(/\.ts$/, '.test.ts')
    return paths.has(test) ? [] : [{ path, message: `has no test beside it: write ${test}` }]
  })
}
