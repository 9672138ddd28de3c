import { type Problem, productionFiles, type Rule, type SourceFile, serviceNames } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** Vitest matchers that compare only a part of an object or list. */
const PARTIAL: ReadonlySet<string> = new Set(['toMatchObject', 'objectContaining', 'arrayContaining'])

/**
 * Tests compare whole values, because a partial matcher accepts unexpected members, such as a secret. A value that differs
 * between runs is compared by its format (`expect.stringMatching(…)`, `anyId`). If only one member matters, the test extracts
 * that member.
 */
export const wholeValues: Rule = (tree) =>
  tree.files.filter(({ path }) => path.endsWith('.ts')).flatMap(partialMatchersOf)

function partialMatchersOf(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  visitSyntax(file, {
    MemberExpression({ property, computed }) {
      if (computed || property.type !== 'Identifier' || !PARTIAL.has(property.name)) return
      const message = `${property.name} compares a part: compare the whole value by toEqual`
      problems.push({ path: file.path, line: lineAt(file.text, property.start), message })
    },
  })
  return problems
}

/** A route or controller has a test next to it: `x.test.ts` for `x.ts`, or `x.long.test.ts` if the test takes long. */
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
