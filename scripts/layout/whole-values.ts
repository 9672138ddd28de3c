import type { Problem, Rule, SourceFile } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** Matchers of vitest that look at a part of an object or a list. */
const PARTIAL: ReadonlySet<string> = new Set(['toMatchObject', 'objectContaining', 'arrayContaining'])

/**
 * Tests compare whole values: a matcher of a part lets a member pass that nobody expects, such as a secret.
 * What differs from run to run is any value of its form (`expect.stringMatching(…)`, `anyId`). Where one
 * member is the guarantee, the test takes it out.
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
