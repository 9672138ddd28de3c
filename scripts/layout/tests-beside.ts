import { type Problem, productionFiles, type Rule, serviceNames } from './source-tree.ts'

/** A route or a controller has its guarantees beside it: `x.test.ts` beside `x.ts`. */
export const testsBeside: Rule = (tree) => {
  const paths = new Set(tree.files.map(({ path }) => path))
  const services = serviceNames(tree)
  const folders = services.flatMap((name) => ['routes', 'controllers'].map((kind) => `services/${name}/src/${kind}`))
  return productionFiles(tree, ...folders).flatMap(({ path }): readonly Problem[] => {
    const test = path.replace(/\.ts$/, '.test.ts')
    return paths.has(test) ? [] : [{ path, message: `has no test beside it: write ${test}` }]
  })
}
