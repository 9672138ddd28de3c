import { type Problem, productionFiles, type Rule, serviceNames } from './source-tree.ts'

/** A route or a controller has its guarantees beside it: `x.test.ts` beside `x.ts`, or `x.long.test.ts` where they take long. */
export const testsBeside: Rule = (tree) => {
  const paths = new Set(tree.files.map(({ path }) => path))
  const services = serviceNames(tree)
  const folders = services.flatMap((name) => ['routes', 'controllers'].map((kind) => `services/${name}/src/${kind}`))
  return productionFiles(tree, ...folders).flatMap(({ path }): readonly Problem[] => {
    const test = path.replace(/\.ts$/, '.test.ts')
    const isTested = paths.has(test) || paths.has(path.replace(/\.ts$/, '.long.test.ts'))
    return isTested ? [] : [{ path, message: `has no test beside it: write ${test}` }]
  })
}
